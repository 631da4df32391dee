"""The terminal app: one session, what a configuration would cut of it, and what a person wants otherwise.

`choice`, `selecting`, `opened`, `lines`, `strip`, `totals` and `form` hold and compute values and know no terminal;
`rows`, `screens/` and `app` show them with Textual. `background` is the thread between the two.
"""
