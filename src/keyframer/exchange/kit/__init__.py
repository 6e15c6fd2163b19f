"""Code shared by exporters: what files of any format need of a scene."""
