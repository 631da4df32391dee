"""Between a client and its API: the conversation is condensed on the way, everything else passes as it is."""
