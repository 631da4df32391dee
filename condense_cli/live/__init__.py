"""Keep a running conversation small: choose what to send before each request, so that the provider's cache survives."""
