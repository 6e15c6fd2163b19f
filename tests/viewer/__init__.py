"""The viewer: its data about files, access to its server, and the page in a browser."""
