"""Pages in a real browser: Chromium, steered by Playwright."""
