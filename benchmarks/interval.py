"""How sure a share is that was counted in a sample."""

Z = 1.96  # standard deviations within which 95 % lie


def wilson(count: int, of: int) -> tuple[float, float]:
    """Bounds in percent of the 95 % interval of Wilson.

    >>> [round(bound) for bound in wilson(18, 20)]
    [70, 97]
    """
    part = count / of
    middle = (part + Z * Z / (2 * of)) / (1 + Z * Z / of)
    reach = Z * ((part * (1 - part) + Z * Z / (4 * of)) / of) ** 0.5 / (1 + Z * Z / of)
    return 100 * (middle - reach), 100 * (middle + reach)


def rate(count: int, of: int) -> str:
    """The share with its interval, as a table shows it.

    >>> rate(9, 10)
    '90.0 % of 10 (60 to 98)'
    """
    low, high = wilson(count, of)
    return f"{100 * count / of:.1f} % of {of} ({abs(low):.0f} to {high:.0f})"
