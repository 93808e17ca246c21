"""As much of Matplotlib as the prompt uses, for tests of what the prompt does with it."""
