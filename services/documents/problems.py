"""Problems of documents; the class names are what the reader reports to the process that waits."""


class Problem(Exception):
    """Base of them."""


class Encrypted(Problem):
    """A password is needed."""


class Unreadable(Problem):
    """It is damaged."""


class TooComplex(Problem):
    """It is more than the limits allow."""


class Unsupported(Problem):
    """It is of a kind that is not read."""


class Missing(Problem):
    """:param module: top-level module that is not installed"""
