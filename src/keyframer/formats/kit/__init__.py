"""Code shared by the bridges, rules and summaries of several formats; formats of other packages may use it too."""
