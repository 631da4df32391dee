"""The terminal app: what a configuration would cut of a session, and what the user keeps or cuts instead.

`choice`, `opened`, `lines` and `editing` compute values and know no terminal; `widgets`, `dialogs`, the two screens and
`app` show them with Textual.
"""
