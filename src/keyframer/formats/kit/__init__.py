"""What the bridges, rules and summaries of several formats share; formats of other packages may use it too."""
