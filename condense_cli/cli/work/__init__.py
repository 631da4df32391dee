"""The work of the commands: functions that take the options of a command. A file is imported when its command runs."""
