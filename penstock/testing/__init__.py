"""The conformance suite: what every stage must hold, on every engine and device, of ordinary and of hostile data.

It is shipped so that a stage of one's own can be put through it. With pytest, on whatever engines a fixture gives::

    @pytest.mark.parametrize("check", checks_for(Double("n1")), ids=str)
    def test_double(check, engine):
        check(engine)

A check raises AssertionError. A trainer of one's own runs on several ranks, which are threads of the test, in a
`LocalGang`. The columns that stages are tried on are told in `penstock.testing.tables`.
"""

from penstock.testing.gang import LocalGang
from penstock.testing.oracles import Columns, Oracle, Refused
from penstock.testing.suite import Check, checks_for, discover_examples, examples_of

__all__ = ["Check", "Columns", "LocalGang", "Oracle", "Refused", "checks_for", "discover_examples", "examples_of"]
