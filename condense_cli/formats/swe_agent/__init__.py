"""Trajectories of SWE-agent and mini-SWE-agent."""
