"""The viewer: what it says about files, who may ask, and the page itself in a browser."""
