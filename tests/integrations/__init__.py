"""With the real packages of frameworks and engines; the models are fakes, or a server on this machine."""
