"""Know the tools of known agents: what their calls do, how they ended, and calls written as text."""
