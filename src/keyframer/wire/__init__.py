"""Bytes to values and back; knows no format.

`cursor` reads inside bounds and says where it failed, `sink` writes, `kinds` are the wire types that fields are
declared with, `record` turns a declaration into a plan that reads, writes, dumps and describes it, and `keytable`
holds animation keys as columns. `style` is what may vary between files of one format: byte order and kind of text.
"""
