"""What the scripted user and agent say and which tools the agent calls, step by step."""

from __future__ import annotations

from dataclasses import dataclass

from tools import PROJECT, Json


@dataclass(frozen=True)
class Prompt:
    """Something the user says, perhaps with a reminder the client puts in front."""

    text: str
    reminder: str = ""


@dataclass(frozen=True)
class Call:
    name: str
    args: Json


@dataclass(frozen=True)
class Turn:
    """One assistant message; without calls it ends the agent's work on a request."""

    text: str
    calls: tuple[Call, ...] = ()
    thinking: str = ""


Step = Prompt | Turn


def do(text: str, *calls: Call, thinking: str = "") -> Turn:
    return Turn(text, calls, thinking)


def read(path: str, offset: int = 0, limit: int = 0) -> Call:
    args: Json = {"file_path": f"{PROJECT}/{path}"}
    if offset:
        args |= {"offset": offset, "limit": limit}
    return Call("Read", args)


def edit(path: str, old: str, new: str, replace_all: bool = False) -> Call:
    args: Json = {"file_path": f"{PROJECT}/{path}", "old_string": old, "new_string": new}
    return Call("Edit", args | {"replace_all": True} if replace_all else args)


def write(path: str, content: str) -> Call:
    return Call("Write", {"file_path": f"{PROJECT}/{path}", "content": content})


def bash(command: str, description: str) -> Call:
    return Call("Bash", {"command": command, "description": description})


def grep(pattern: str, path: str, **more: str) -> Call:
    args: Json = {"pattern": pattern, "path": f"{PROJECT}/{path}".rstrip("/"), **more}
    return Call("Grep", args | {"-n": True} if more.get("output_mode") == "content" else args)


def todo(items: tuple[tuple[str, str], ...], done: int) -> Call:
    """The todo list with its first `done` items finished and the next one begun."""
    state = {True: "completed", False: "pending"}
    todos = [
        {
            "content": text,
            "status": "in_progress" if index == done else state[index < done],
            "activeForm": active,
        }
        for index, (text, active) in enumerate(items)
    ]
    return Call("TodoWrite", {"todos": todos})


FIX_TODOS = (
    ("Fix rounding and discounts in pricing.py", "Fixing rounding and discounts"),
    ("Fix order lines in models.py", "Fixing order lines"),
    ("Fix reservations and the JSON file in storage.py", "Fixing the warehouse"),
    ("Fix low stock and column widths in report.py", "Fixing the reports"),
    ("Run the whole test suite", "Running the whole test suite"),
)

COUPON_TODOS = (
    ("Write inventory/coupons.py", "Writing the coupon rules"),
    ("Take the coupon off in order_total", "Taking the coupon off the total"),
    ("Show the coupon on the invoice", "Showing the coupon on the invoice"),
    ("Write tests for coupons", "Writing tests for coupons"),
)

COUPONS = '''\
"""Coupon codes: a percentage or a fixed amount off an order."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from inventory.pricing import round_money


@dataclass(frozen=True)
class Coupon:
    """A code that takes either `percent` or `amount` off the net price of an order."""

    code: str
    percent: Decimal | None = None
    amount: Decimal | None = None
    minimum: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        if (self.percent is None) == (self.amount is None):
            raise ValueError("a coupon has either a percentage or an amount")
        if self.percent is not None and not 0 < self.percent <= 100:
            raise ValueError("the percentage must be between 0 and 100")
        if self.amount is not None and self.amount <= 0:
            raise ValueError("the amount must be positive")

    def discount(self, net: Decimal) -> Decimal:
        """What the coupon takes off this net price, in cents."""
        if net < self.minimum:
            return Decimal(0)
        if self.percent is not None:
            return round_money(net * self.percent / 100)
        assert self.amount is not None
        return round_money(self.amount)
'''

MONEY = '''\
"""Rounding of amounts, shared by prices and coupons."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


def round_money(amount: Decimal) -> Decimal:
    """Round to cents; half a cent is rounded up, as on a till receipt."""
    return amount.quantize(CENT, rounding=ROUND_HALF_UP)
'''

TEST_COUPONS = """\
from decimal import Decimal

import pytest

from inventory.coupons import Coupon
from inventory.models import Order
from inventory.pricing import order_total
from inventory.report import invoice


@pytest.fixture
def order(mug, tea):
    order = Order("E-1", "Café Lumière")
    order.add(mug, 12)
    order.add(tea, 2)
    return order


def test_percentage_comes_off_after_the_quantity_discount(order):
    totals = order_total(order, Coupon("SPRING", percent=Decimal(10)))
    assert totals.discount == Decimal("11.48")
    assert totals.net == Decimal("103.28")


def test_tax_is_due_on_the_reduced_price(order):
    full = order_total(order)
    half = order_total(order, Coupon("HALF", percent=Decimal(50)))
    assert half.tax == Decimal("9.69")
    assert full.tax == Decimal("19.37")


def test_fixed_amount(order):
    assert order_total(order, Coupon("TEN", amount=Decimal(10))).net == Decimal("104.76")


def test_fixed_amount_never_pays_out(order):
    totals = order_total(order, Coupon("BIG", amount=Decimal(500)))
    assert (totals.net, totals.tax, totals.gross) == (0, 0, 0)


def test_minimum_order_value(order):
    coupon = Coupon("OVER150", percent=Decimal(10), minimum=Decimal(150))
    assert order_total(order, coupon).discount == 0


@pytest.mark.parametrize("values", [{}, {"percent": Decimal(5), "amount": Decimal(5)}])
def test_a_coupon_is_one_thing_or_the_other(values):
    with pytest.raises(ValueError, match="either"):
        Coupon("ODD", **values)


def test_invoice_names_the_coupon(order):
    text = invoice(order, Coupon("SPRING", percent=Decimal(10)))
    assert "Coupon SPRING: -11.48 EUR" in text
    assert "Net:   103.28 EUR" in text


def test_invoice_without_coupon_has_no_such_line(order):
    assert "Coupon" not in invoice(order)
"""

OLD_TOTAL = '''\
def order_total(order: Order) -> Totals:
    """Net amount and tax of a whole order."""
    net = sum((line_total(line) for line in order.lines), Decimal(0))
    tax = sum((line_tax(line) for line in order.lines), Decimal(0))
    return Totals(net=round_money(net), tax=round_money(tax))
'''

NEW_TOTAL = '''\
def order_total(order: Order, coupon: Coupon | None = None) -> Totals:
    """Net amount and tax of a whole order, less what a coupon takes off.

    The coupon lowers every line in proportion, so the tax shrinks with it.
    """
    full = sum((line_total(line) for line in order.lines), Decimal(0))
    tax = sum((line_tax(line) for line in order.lines), Decimal(0))
    discount = coupon.discount(full) if coupon else Decimal(0)
    net = full - discount
    if discount:
        tax = tax * net / full
    return Totals(net=round_money(net), tax=round_money(tax), discount=discount)
'''

ROUND_TRIP = """\
python - <<'END'
from decimal import Decimal
from pathlib import Path
from inventory.models import Product
from inventory.storage import Warehouse, load, save

house = Warehouse()
for number in range(1, 200):
    house.receive(Product(f"P-{number:03}", f"Part {number}", Decimal(number) / 100), number, number % 7)
path = Path("check.json")
save(house, path)
print(list(load(path)) == list(house), len(load(path)))
path.unlink()
END"""

FIX: list[Step] = [
    Prompt(
        "Several tests fail since I moved the warehouse to a JSON file and tidied up the pricing code. "
        "Please find out what is wrong and fix the library, not the tests. "
        "When you are done, tell me each bug in one line."
    ),
    do(
        "I'll start by running the test suite to see what fails.",
        bash("python -m pytest -q", "Run the test suite"),
        thinking="The user wants the library fixed and the tests left alone. Before reading any code I "
        "should see which tests fail, so that I know where to look first.",
    ),
    do(
        "Twelve of 36 tests fail, spread over all four modules. Let me see how the project is laid out.",
        bash(
            "ls . inventory tests && wc -l inventory/*.py tests/*.py",
            "List the project's files and their length",
        ),
    ),
    do("I'll go module by module and keep a list.", todo(FIX_TODOS, 0)),
    do("Pricing first, since the reports depend on it.", read("inventory/pricing.py")),
    do("", read("tests/test_pricing.py")),
    do(
        "Two things stand out. `round_money` promises that half a cent is rounded up but uses banker's "
        "rounding, and `discount_rate` only grants a tier above its threshold. Rounding first.",
        edit(
            "inventory/pricing.py",
            "from decimal import ROUND_HALF_EVEN, Decimal",
            "from decimal import ROUND_HALF_UP, Decimal",
        ),
    ),
    do(
        "",
        edit(
            "inventory/pricing.py",
            "    return amount.quantize(CENT, ROUND_HALF_EVEN)",
            "    return amount.quantize(CENT, ROUND_HALF_UP)",
        ),
    ),
    do(
        "That line isn't written the way I remembered it. Let me look at it again.",
        read("inventory/pricing.py", 38, 18),
    ),
    do(
        "The mode is passed by keyword.",
        edit("inventory/pricing.py", "rounding=ROUND_HALF_EVEN)", "rounding=ROUND_HALF_UP)"),
    ),
    do(
        "Now the tiers: ten units should already get the first discount.",
        edit("inventory/pricing.py", "        if quantity > threshold:", "        if quantity >= threshold:"),
    ),
    do("", bash("python -m pytest -q tests/test_pricing.py", "Run the pricing tests")),
    do("All pricing tests pass.", todo(FIX_TODOS, 1)),
    do(
        "Next, the order lines. I'll read the model and its tests together.",
        read("inventory/models.py"),
        read("tests/test_models.py"),
    ),
    do(
        "`Order.add` finds the line of the product but replaces its quantity instead of adding to it.",
        edit(
            "inventory/models.py",
            "                self.lines[index] = OrderLine(product, quantity)",
            "                self.lines[index] = OrderLine(product, line.quantity + quantity)",
        ),
    ),
    do(
        "",
        bash(
            "python -m pytest -q tests/test_models.py tests/test_pricing.py",
            "Run the model and pricing tests",
        ),
    ),
    do("Good. On to the warehouse.", todo(FIX_TODOS, 2)),
    do("", read("inventory/storage.py")),
    do("Now what the storage tests expect of reservations and of the file.", read("tests/test_storage.py")),
    do(
        "`reserve` compares with the units on hand, so units promised to one order can be promised to "
        "another. It has to look at the free units.",
        edit(
            "inventory/storage.py",
            "        if quantity > item.on_hand:",
            "        if quantity > item.available:",
        ),
    ),
    do(
        "Prices go through `float` on their way to the file. I'll write them as text instead.",
        edit(
            "inventory/storage.py",
            '        "unit_price": float(item.product.unit_price),',
            '        "unit_price": str(item.product.unit_price),',
        ),
    ),
    do("", bash("python -m pytest -q tests/test_storage.py 2>&1 | tail -40", "Run the storage tests")),
    do(
        "Better, but two still fail: the reorder level is lost on loading, and old files hold prices as "
        "numbers. Let me look at the loading side again.",
        read("inventory/storage.py", 96, 48),
        thinking="The round trip differs in reorder_level only: 5 where 10 was saved. item_from_dict "
        "never passes it on, so StockItem falls back to its default. And for version 1 files the price is "
        "a JSON number, so Decimal(data['unit_price']) takes over the binary error. Decimal(str(...)) "
        "works for both text and numbers.",
    ),
    do(
        "`item_from_dict` ignores `reorder_level`, and `Decimal` of a float carries the float's error along. "
        "Going through `str` is right for both kinds of files.",
        edit(
            "inventory/storage.py",
            '        unit_price=Decimal(data["unit_price"]),',
            '        unit_price=Decimal(str(data["unit_price"])),',
        ),
    ),
    do(
        "",
        edit(
            "inventory/storage.py",
            '        reserved=data.get("reserved", 0),\n    )',
            '        reserved=data.get("reserved", 0),\n        reorder_level=data.get("reorder_level", 5),\n    )',
        ),
    ),
    do("", bash("python -m pytest -q tests/test_storage.py", "Run the storage tests")),
    do("The warehouse is fine now. The reports are left.", todo(FIX_TODOS, 3)),
    do(
        "First, where the reorder level is used at all.",
        grep("reorder_level", "inventory", output_mode="content"),
    ),
    do("", read("inventory/report.py")),
    do(
        "`low_stock` leaves out items that are exactly at their level, although its docstring says they count.",
        edit(
            "inventory/report.py",
            "if item.available < item.reorder_level]",
            "if item.available <= item.reorder_level]",
        ),
    ),
    do(
        "And `table` takes the column widths from the header alone, so longer cells push everything to the right.",
        edit(
            "inventory/report.py",
            "    widths = [len(title) for title in header]",
            "    widths = [max(len(row[index]) for row in rows) for index in range(len(header))]",
        ),
    ),
    do("", bash("python -m pytest -q", "Run the test suite")),
    do(
        "One left, and it is my own change: now the header is not counted. Let me look at that function once more.",
        read("inventory/report.py", 25, 18),
    ),
    do(
        "The widths must come from the header and the rows together. That also keeps an empty table from failing.",
        edit(
            "inventory/report.py",
            "max(len(row[index]) for row in rows)",
            "max(len(row[index]) for row in [header, *rows])",
        ),
    ),
    do("", bash("python -m pytest -q", "Run the test suite")),
    do(
        "Everything passes. As a last check I'll save and load a larger warehouse.",
        bash(ROUND_TRIP, "Save and load 199 products"),
    ),
    do("", todo(FIX_TODOS, 5)),
    do(
        "All 36 tests pass now. The bugs were:\n\n"
        "- `pricing.round_money` used banker's rounding; half a cent is rounded up now.\n"
        "- `pricing.discount_rate` gave a tier only above its threshold, not at it.\n"
        "- `models.Order.add` replaced the quantity of a line instead of adding to it.\n"
        "- `storage.Warehouse.reserve` compared with the units on hand rather than the free ones.\n"
        "- `storage.item_to_dict` wrote prices as floats, and `item_from_dict` read old float prices "
        "inexactly.\n"
        "- `storage.item_from_dict` dropped the reorder level.\n"
        "- `report.low_stock` left out items exactly at their level.\n"
        "- `report.table` took the column widths from the header only.\n\n"
        "I did not change any test."
    ),
]

FEATURE: list[Step] = [
    Prompt(
        "Great, thank you. Now please add coupons: a code that takes either a percentage or a fixed "
        "amount off the net price of an order, with an optional minimum order value. A coupon applies "
        "after the quantity discounts and before tax. The invoice should show it on a line of its own. "
        "Add tests for it, too.",
        reminder="Every item on the todo list is done. Start a new list if the next request has several "
        "steps, and do not mention this note to the user.",
    ),
    do("I'll plan this in four steps.", todo(COUPON_TODOS, 0)),
    do(
        "Who calls `order_total` today?",
        grep(r"order_total|Totals\(", "", glob="*.py", output_mode="content"),
    ),
    do("Let me read the pricing module again as it is now.", read("inventory/pricing.py")),
    do("And the invoice.", read("inventory/report.py", 59, 22)),
    do(
        "A coupon is a small value object that knows what it takes off. It gets a module of its own.",
        write("inventory/coupons.py", COUPONS),
        thinking="Tax depends on the category of each line, so after a coupon the tax base of every line "
        "has to shrink in proportion. Scaling the summed tax by net/full does the same without going "
        "through the lines again. Without a coupon the result must stay exactly as it is now.",
    ),
    do("", todo(COUPON_TODOS, 1)),
    do(
        "Now the totals. First the import and the new field.",
        edit(
            "inventory/pricing.py",
            "from inventory.models import Order, OrderLine\n",
            "from inventory.coupons import Coupon\nfrom inventory.models import Order, OrderLine\n",
        ),
    ),
    do(
        "",
        edit(
            "inventory/pricing.py",
            "    net: Decimal\n    tax: Decimal\n",
            "    net: Decimal\n    tax: Decimal\n    discount: Decimal = Decimal(0)\n",
        ),
    ),
    do("", edit("inventory/pricing.py", OLD_TOTAL, NEW_TOTAL)),
    do("", bash("python -m pytest -q", "Run the test suite")),
    do(
        "That is a circular import: coupons needs `round_money`, and pricing needs `Coupon`. Rounding "
        "belongs to neither of them, so I'll move it to a module of its own.",
        write("inventory/money.py", MONEY),
    ),
    do(
        "",
        edit(
            "inventory/coupons.py",
            "from inventory.pricing import round_money",
            "from inventory.money import round_money",
        ),
    ),
    do("", read("inventory/pricing.py", 1, 50)),
    do(
        "",
        edit(
            "inventory/pricing.py",
            "from decimal import ROUND_HALF_UP, Decimal\n\nfrom inventory.coupons import Coupon\n"
            'from inventory.models import Order, OrderLine\n\nCENT = Decimal("0.01")\n',
            "from decimal import Decimal\n\nfrom inventory.coupons import Coupon\n"
            "from inventory.models import Order, OrderLine\nfrom inventory.money import round_money\n",
        ),
    ),
    do(
        "",
        edit(
            "inventory/pricing.py",
            "def round_money(amount: Decimal) -> Decimal:\n"
            '    """Round to cents; half a cent is rounded up, as on a till receipt."""\n'
            "    return amount.quantize(CENT, rounding=ROUND_HALF_UP)\n\n\n",
            "",
        ),
    ),
    do("", bash("python -m pytest -q", "Run the test suite")),
    do("The old tests pass again. Now the invoice.", todo(COUPON_TODOS, 2)),
    do("", read("inventory/report.py")),
    do(
        "`invoice` gets an optional coupon and hands it on.",
        edit(
            "inventory/report.py",
            'def invoice(order: Order) -> str:\n    """The invoice of an order as plain text."""\n',
            "def invoice(order: Order, coupon: Coupon | None = None) -> str:\n"
            '    """The invoice of an order as plain text; a coupon that counts has its own line."""\n',
        ),
    ),
    do(
        "",
        edit(
            "inventory/report.py",
            '    totals = order_total(order)\n    body = table(["Item"',
            '    totals = order_total(order, coupon)\n    body = table(["Item"',
        ),
    ),
    do(
        "",
        edit(
            "inventory/report.py",
            '    ]\n    return "\\n".join([f"Invoice {order.number}',
            "    ]\n    if coupon and totals.discount:\n"
            '        foot.insert(0, f"Coupon {coupon.code}: -{totals.discount:.2f} EUR")\n'
            '    return "\\n".join([f"Invoice {order.number}',
        ),
    ),
    do(
        "",
        edit(
            "inventory/report.py",
            "from inventory.models import Order, StockItem\n",
            "from inventory.coupons import Coupon\nfrom inventory.models import Order, StockItem\n",
        ),
    ),
    do("", todo(COUPON_TODOS, 3)),
    do("Now the tests.", write("tests/test_coupons.py", TEST_COUPONS)),
    do("", bash("python -m pytest -q tests/test_coupons.py", "Run the coupon tests")),
    do(
        "The test found a real gap: a fixed amount larger than the order makes the total negative. "
        "A coupon must not take off more than there is.",
        edit(
            "inventory/coupons.py",
            "        return round_money(self.amount)",
            "        return min(round_money(self.amount), net)",
        ),
    ),
    do("", bash("python -m pytest -q", "Run the test suite")),
    do(
        "Let me look at a printed invoice with my own eyes.",
        bash(
            "python - <<'END'\nfrom decimal import Decimal\nfrom inventory.coupons import Coupon\n"
            "from inventory.models import Order, Product\nfrom inventory.report import invoice\n\n"
            'order = Order("2026-0117", "Café Lumière")\n'
            'order.add(Product("MUG-01", "Enamel mug", Decimal("7.90")), 12)\n'
            'order.add(Product("TEA-01", "Jasmine tea, 250 g", Decimal("12.35"), "food"), 2)\n'
            'print(invoice(order, Coupon("SPRING", percent=Decimal(10))))\nEND',
            "Print an invoice with a coupon",
        ),
    ),
    do("", todo(COUPON_TODOS, 4)),
    do(
        "Coupons are in. `Coupon(code, percent=…)` or `Coupon(code, amount=…)`, both with an optional "
        "`minimum`, can be given to `order_total` and to `invoice`; without one, nothing changes.\n\n"
        "- The coupon is taken off after the quantity discounts, and the tax shrinks in proportion.\n"
        "- It never takes off more than the order is worth.\n"
        "- `Totals` has a new field, `discount`, and the invoice names the coupon above the net amount.\n"
        "- `round_money` moved to `inventory/money.py`; importing it from `inventory.pricing` still "
        "works.\n\n"
        "The nine new tests are in `tests/test_coupons.py`; all 45 tests pass."
    ),
]

SMALL: list[Step] = [
    Prompt(
        "One more small thing: large amounts are hard to read in the reports. Please use a thousands "
        "separator everywhere in report.py, then write all of today's changes into CHANGELOG.md as "
        "version 0.5.0."
    ),
    do("Let me find the places that format amounts.", grep(r":\.2f", "inventory", output_mode="content")),
    do("They are all in report.py and all alike.", read("inventory/report.py", 44, 48)),
    do("", edit("inventory/report.py", ":.2f", ":,.2f", replace_all=True)),
    do("", bash("python -m pytest -q", "Run the test suite")),
    do("No test has an amount above 1,000 yet, so I'll add one.", read("tests/test_report.py")),
    do(
        "",
        edit(
            "tests/test_report.py",
            "def test_invoice_shows_the_totals(mug, tea):",
            "def test_large_amounts_have_a_thousands_separator(warehouse, tray):\n"
            "    warehouse.receive(tray, 500)\n"
            "    text = stock_report(warehouse)\n"
            '    assert "503  12,323.50" in text\n'
            '    assert text.endswith("Total value: 12,787.70 EUR")\n\n\n'
            "def test_invoice_shows_the_totals(mug, tea):",
        ),
    ),
    do("", bash("python -m pytest -q tests/test_report.py", "Run the report tests")),
    do("Now the changelog, and wherever else the version is written.", read("CHANGELOG.md")),
    do("", grep(r"0\.4\.0", "")),
    do(
        "",
        edit(
            "CHANGELOG.md",
            "# Changelog\n",
            "# Changelog\n\n## 0.5.0\n\n"
            "- Coupons: a percentage or a fixed amount off an order, with an optional minimum.\n"
            "- Reports show amounts with a thousands separator, and columns are as wide as their cells.\n"
            "- Half a cent is rounded up, and discounts start at their threshold.\n"
            "- Adding a product to an order twice adds up its units.\n"
            "- Reserved units cannot be promised again.\n"
            "- Warehouse files keep prices exact and remember the reorder level.\n"
            "- Items exactly at their reorder level count as low stock.\n",
        ),
    ),
    do(
        "",
        bash(
            "sed -i 's/0\\.4\\.0/0.5.0/' pyproject.toml inventory/__init__.py && "
            "grep -n '0\\.5\\.0' pyproject.toml inventory/__init__.py",
            "Raise the version",
        ),
    ),
    do("", bash("python -m pytest -q", "Run the test suite")),
    do(
        "Done. Amounts in `report.py` are printed like `12,787.70` now, with a test for it. "
        "`CHANGELOG.md` has a section 0.5.0 with today's fixes and the coupons, and I raised the version "
        "in `pyproject.toml` and `inventory/__init__.py` to match. All 46 tests pass."
    ),
]

# A shorter session of its own: only the warehouse.
STORAGE: list[Step] = [
    Prompt("tests/test_storage.py fails. Can you fix the storage module? The other test files can wait."),
    do("", bash("python -m pytest -q tests/test_storage.py", "Run the storage tests")),
    do("Four failures. Let me read the module.", read("inventory/storage.py")),
    do("And the data classes it fills.", read("inventory/models.py", 60, 24)),
    do(
        "The reservation check has to use the free units, not the units on hand.",
        edit("inventory/storage.py", "if quantity > item.on_hand:", "if quantity > item.available:"),
    ),
    do("", bash("python -m pytest -q tests/test_storage.py 2>&1 | tail -5", "Run the storage tests")),
    do(
        "The other three are about the file. I'll look at that part again.",
        read("inventory/storage.py", 90, 40),
    ),
    do(
        "Prices should be written as text, so that they stay exact.",
        edit("inventory/storage.py", "float(item.product.unit_price)", "str(item.product.unit_price)"),
    ),
    do("", edit("inventory/storage.py", 'Decimal(data["unit_price"])', 'Decimal(str(data["unit_price"]))')),
    do("", bash("python -m pytest -q tests/test_storage.py", "Run the storage tests")),
    do(
        "Only the reorder level is missing now. Where is it read back?",
        grep("reorder_level", "inventory", output_mode="content"),
    ),
    do(
        "Nowhere: `item_from_dict` never passes it on.",
        edit(
            "inventory/storage.py",
            '        reserved=data.get("reserved", 0),\n',
            '        reserved=data.get("reserved", 0),\n        reorder_level=data.get("reorder_level", 5),\n',
        ),
    ),
    do("", bash("python -m pytest -q tests/test_storage.py", "Run the storage tests")),
    do("Let me read the changed part once more in one piece.", read("inventory/storage.py", 96, 34)),
    do(
        "",
        bash("python -m pytest -q 2>&1 | tail -10", "See that no other test got worse"),
    ),
    do(
        "The storage tests pass. `reserve` now checks the free units, prices are written as text and read "
        "back exactly (also from old files), and the reorder level is loaded again. The eight failures "
        "left are in the pricing, model and report tests, as before."
    ),
]

SYSTEM = (
    "You are a coding agent working in the folder /home/dev/inventory. Use read_file before you change a "
    "file, make small edits with edit_file, and run the tests with run_command after each change. Paths "
    "are relative to the project. Do not change tests unless the user asks for it. Be brief."
)


def look(path: str, start: int = 0, end: int = 0) -> Call:
    args: Json = {"path": path}
    return Call("read_file", args | {"start_line": start, "end_line": end} if start else args)


def change(path: str, old: str, new: str) -> Call:
    return Call("edit_file", {"path": path, "old_text": old, "new_text": new})


def run(command: str) -> Call:
    return Call("run_command", {"command": command})


CHAT: list[Step] = [
    Prompt("The pricing tests fail. Please fix inventory/pricing.py."),
    do("", run("python -m pytest -q tests/test_pricing.py")),
    do("", look("inventory/pricing.py"), look("tests/test_pricing.py", 1, 26)),
    do("", change("inventory/pricing.py", "if quantity > threshold:", "if quantity >= threshold:")),
    do("", run("python -m pytest -q tests/test_pricing.py")),
    do("", change("inventory/pricing.py", "ROUND_HALF_EVEN", "ROUND_HALF_UP")),
    do("", look("inventory/pricing.py", 8, 16)),
    do(
        "",
        change("inventory/pricing.py", "import ROUND_HALF_EVEN, Decimal", "import ROUND_HALF_UP, Decimal"),
    ),
    do("", change("inventory/pricing.py", "rounding=ROUND_HALF_EVEN", "rounding=ROUND_HALF_UP")),
    do("", run("python -m pytest -q tests/test_pricing.py")),
    do(
        "The pricing tests pass. Discounts now start at their threshold, and half a cent is rounded up "
        "instead of to the even cent."
    ),
]

CHAT_MORE: list[Step] = [
    Prompt("Thanks! Now the report tests, please."),
    do("", run("python -m pytest -q tests/test_report.py")),
    do("", look("inventory/report.py")),
    do(
        "",
        change(
            "inventory/report.py",
            "item.available < item.reorder_level",
            "item.available <= item.reorder_level",
        ),
    ),
    do(
        "",
        change(
            "inventory/report.py",
            "    widths = [len(title) for title in header]",
            "    widths = [max(map(len, column)) for column in zip(header, *rows)]",
        ),
    ),
    do("", run("python -m pytest -q tests/test_report.py")),
    do("", look("inventory/report.py", 12, 42)),
    do("", run("grep -rn 'low_stock\\|table(' --include='*.py' inventory tests | sort")),
    do("", run("python -m pytest -q 2>&1 | tail -8")),
    do(
        "Both are fixed: `low_stock` includes items exactly at their level, and `table` makes each column "
        "as wide as its longest cell. The failures left are in the model and storage tests, which I have "
        "not touched."
    ),
]
