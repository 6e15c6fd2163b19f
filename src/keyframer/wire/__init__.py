"""Bytes to values and back; knows no format.

`cursor` reads inside bounds and says where it failed, `sink` writes, `kinds` are the wire types that fields are
declared with, `plan` is what a declaration says, `record` reads, writes, dumps and describes records by their plans,
`quick` generates a function from a plan that reads the usual record fast, and `keytable` holds animation keys as
columns. `style` is what may vary between files of one format: byte order and kind of text.
"""
