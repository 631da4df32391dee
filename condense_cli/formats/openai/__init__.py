"""Messages and items of OpenAI's APIs, and logs of their calls."""
