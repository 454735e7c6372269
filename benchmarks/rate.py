"""A share of something counted, as tables show it."""

Z = 1.96  # of an interval of 95 %


def rate(count: int, of: int) -> str:
    """The share with its 95 % interval by Wilson.

    >>> rate(9, 10)
    '90.0 % of 10 (60 to 98)'
    """
    part = count / of
    middle = (part + Z * Z / (2 * of)) / (1 + Z * Z / of)
    reach = Z * ((part * (1 - part) + Z * Z / (4 * of)) / of) ** 0.5 / (1 + Z * Z / of)
    low, high = 100 * (middle - reach), 100 * (middle + reach)
    return f"{100 * part:.1f} % of {of} ({low:.0f} to {high:.0f})"
