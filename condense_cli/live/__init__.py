"""The conversation that goes on: what to send out before each request, so that the provider's cache survives."""
