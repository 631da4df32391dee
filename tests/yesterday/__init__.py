"""What earlier versions wrote, and the script that freezes it."""
