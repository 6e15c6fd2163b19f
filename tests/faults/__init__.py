"""What remains when writing fails or the process is killed at any of its steps."""
