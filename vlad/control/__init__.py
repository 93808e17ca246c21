"""What an evaluation is subject to from outside: exceptions of other threads, frames, budgets; standard streams and files."""
