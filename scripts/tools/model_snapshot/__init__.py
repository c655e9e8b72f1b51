"""Keeps a model's files of one revision of a Hugging Face hub, or of a mirror that speaks its API, in a folder.

PATH.incomplete is filled and becomes PATH as a whole when every file has its hash. PATH/.snapshot.json remembers each
file's hash, size and time: what still has that size and time is not read again, unless --hash asks for it. Files that
lie in PATH already are verified and taken over; what is no part of the snapshot ends up in PATH.replaced.

Standard library only, Python 3.9 or newer.
"""
