"""For mutmut 3.8, which asks collected tests for an attribute that they no longer have in pytest 9.2."""


def pytest_itemcollected(item):
    item._nodeid = item.nodeid
