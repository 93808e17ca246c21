"""A mock of the parts of Matplotlib that the prompt uses."""
