"""Histories of Roo Code and Cline."""
