from dev.checks import api_table


def test_the_clients_tests_know_what_the_api_takes_and_gives():
    """The fake server of the client's tests refuses what the API refuses."""
    assert api_table.FILE.read_text() == api_table.text(), "Run `make format`."
