"""The toy project the scripted agent works on, with its planted bugs: path -> file text."""

from __future__ import annotations

README = """\
# inventory

A small library for a shop that keeps stock and takes orders.

- `inventory/models.py`: products, stock items, orders and the errors
- `inventory/pricing.py`: quantity discounts, tax and order totals
- `inventory/storage.py`: the warehouse, kept in a JSON file
- `inventory/report.py`: plain text tables for the back office

Run the tests with `python -m pytest -q`.
"""

PYPROJECT = """\
[project]
name = "inventory"
version = "0.4.0"
description = "Stock keeping and ordering for a small shop"
requires-python = ">=3.10"
license = { text = "MIT" }

[tool.pytest.ini_options]
testpaths = ["tests"]
"""

CHANGELOG = """\
# Changelog

## 0.4.0

- Reports are plain text tables now.
- Stock can be reserved for an order before it ships.

## 0.3.0

- Quantity discounts.
"""

INIT = '''\
"""Stock keeping and ordering for a small shop."""

__version__ = "0.4.0"
'''

MODELS = '''\
"""Plain data classes for products, stock and orders."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum


class InventoryError(Exception):
    """Base class of every error this package raises."""


class UnknownProduct(InventoryError):
    """The SKU is not kept in the warehouse."""

    def __init__(self, sku: str) -> None:
        super().__init__(f"unknown product: {sku}")
        self.sku = sku


class OutOfStock(InventoryError):
    """There are not enough free units to promise."""

    def __init__(self, sku: str, wanted: int, available: int) -> None:
        super().__init__(f"{sku}: wanted {wanted}, only {available} available")
        self.sku = sku
        self.wanted = wanted
        self.available = available


class OrderStatus(Enum):
    DRAFT = "draft"
    PLACED = "placed"
    SHIPPED = "shipped"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Product:
    """Something the shop sells, identified by its SKU."""

    sku: str
    name: str
    unit_price: Decimal
    category: str = "general"

    def __post_init__(self) -> None:
        if not self.sku:
            raise ValueError("a product needs a SKU")
        if self.unit_price < 0:
            raise ValueError("a price cannot be negative")


@dataclass
class StockItem:
    """How many units of one product the warehouse holds."""

    product: Product
    on_hand: int = 0
    reserved: int = 0
    reorder_level: int = 5

    @property
    def available(self) -> int:
        """Units that are not promised to an order yet."""
        return self.on_hand - self.reserved

    @property
    def value(self) -> Decimal:
        """What the units on hand are worth at list price."""
        return self.product.unit_price * self.on_hand


@dataclass(frozen=True)
class OrderLine:
    """One product and how many units of it were ordered."""

    product: Product
    quantity: int

    @property
    def subtotal(self) -> Decimal:
        return self.product.unit_price * self.quantity


@dataclass
class Order:
    """A customer's order; every product appears on one line only."""

    number: str
    customer: str
    lines: list[OrderLine] = field(default_factory=list)
    status: OrderStatus = OrderStatus.DRAFT

    def add(self, product: Product, quantity: int = 1) -> None:
        """Add units of a product, joining them to its line when there is one."""
        if self.status is not OrderStatus.DRAFT:
            raise InventoryError(f"order {self.number} is {self.status.value}")
        if quantity < 1:
            raise ValueError("quantity must be at least 1")
        for index, line in enumerate(self.lines):
            if line.product.sku == product.sku:
                self.lines[index] = OrderLine(product, quantity)
                return
        self.lines.append(OrderLine(product, quantity))

    @property
    def units(self) -> int:
        """All units on the order together."""
        return sum(line.quantity for line in self.lines)
'''

PRICING = '''\
"""Quantity discounts, tax and order totals.

All amounts are `Decimal`. Sums are kept exact while they are added up and
rounded to cents once, at the end of each step that a customer can see.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

from inventory.models import Order, OrderLine

CENT = Decimal("0.01")

# (units of one product, discount on that line); the highest tier reached counts
DISCOUNT_TIERS: tuple[tuple[int, Decimal], ...] = (
    (10, Decimal("0.05")),
    (50, Decimal("0.10")),
    (100, Decimal("0.15")),
)

TAX_RATES: dict[str, Decimal] = {
    "general": Decimal("0.20"),
    "food": Decimal("0.055"),
    "books": Decimal("0.055"),
}


@dataclass(frozen=True)
class Totals:
    """The amounts at the foot of an invoice."""

    net: Decimal
    tax: Decimal

    @property
    def gross(self) -> Decimal:
        return self.net + self.tax


def round_money(amount: Decimal) -> Decimal:
    """Round to cents; half a cent is rounded up, as on a till receipt."""
    return amount.quantize(CENT, rounding=ROUND_HALF_EVEN)


def discount_rate(quantity: int) -> Decimal:
    """The discount for ordering this many units of one product."""
    rate = Decimal(0)
    for threshold, tier_rate in DISCOUNT_TIERS:
        if quantity > threshold:
            rate = tier_rate
    return rate


def line_total(line: OrderLine) -> Decimal:
    """The price of a line after its quantity discount, in cents."""
    return round_money(line.subtotal * (1 - discount_rate(line.quantity)))


def tax_rate(category: str) -> Decimal:
    """The tax rate of a category; unknown ones are taxed as general goods."""
    return TAX_RATES.get(category, TAX_RATES["general"])


def line_tax(line: OrderLine) -> Decimal:
    """The tax on a line, not rounded yet."""
    return line_total(line) * tax_rate(line.product.category)


def order_total(order: Order) -> Totals:
    """Net amount and tax of a whole order."""
    net = sum((line_total(line) for line in order.lines), Decimal(0))
    tax = sum((line_tax(line) for line in order.lines), Decimal(0))
    return Totals(net=round_money(net), tax=round_money(tax))
'''

STORAGE = '''\
"""The warehouse: stock levels kept in a JSON file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from inventory.models import (
    InventoryError,
    Order,
    OrderStatus,
    OutOfStock,
    Product,
    StockItem,
    UnknownProduct,
)

FORMAT_VERSION = 2


class Warehouse:
    """All stock items, by SKU."""

    def __init__(self) -> None:
        self._items: dict[str, StockItem] = {}

    def __iter__(self) -> Iterator[StockItem]:
        return iter(sorted(self._items.values(), key=lambda item: item.product.sku))

    def __len__(self) -> int:
        return len(self._items)

    def item(self, sku: str) -> StockItem:
        """The stock item of a SKU, or `UnknownProduct`."""
        try:
            return self._items[sku]
        except KeyError:
            raise UnknownProduct(sku) from None

    def receive(self, product: Product, quantity: int, reorder_level: int = 5) -> StockItem:
        """Book units that arrived; a product seen for the first time is added."""
        if quantity < 0:
            raise ValueError("cannot receive a negative quantity")
        item = self._items.get(product.sku)
        if item is None:
            item = self._items[product.sku] = StockItem(product, reorder_level=reorder_level)
        item.on_hand += quantity
        return item

    def reserve(self, sku: str, quantity: int) -> None:
        """Promise units to an order."""
        item = self.item(sku)
        if quantity > item.on_hand:
            raise OutOfStock(sku, quantity, item.available)
        item.reserved += quantity

    def release(self, sku: str, quantity: int) -> None:
        """Take back a promise."""
        item = self.item(sku)
        item.reserved = max(0, item.reserved - quantity)

    def place(self, order: Order) -> None:
        """Reserve everything on an order, or nothing at all."""
        done: list[tuple[str, int]] = []
        try:
            for line in order.lines:
                self.reserve(line.product.sku, line.quantity)
                done.append((line.product.sku, line.quantity))
        except InventoryError:
            for sku, quantity in done:
                self.release(sku, quantity)
            raise
        order.status = OrderStatus.PLACED

    def ship(self, order: Order) -> None:
        """Hand the reserved units of a placed order to the carrier."""
        if order.status is not OrderStatus.PLACED:
            raise InventoryError(f"order {order.number} is {order.status.value}")
        for line in order.lines:
            item = self.item(line.product.sku)
            item.on_hand -= line.quantity
            item.reserved -= line.quantity
        order.status = OrderStatus.SHIPPED

    def cancel(self, order: Order) -> None:
        """Cancel an order and give its reserved units back."""
        if order.status is OrderStatus.SHIPPED:
            raise InventoryError(f"order {order.number} has left the house")
        if order.status is OrderStatus.PLACED:
            for line in order.lines:
                self.release(line.product.sku, line.quantity)
        order.status = OrderStatus.CANCELLED


def item_to_dict(item: StockItem) -> dict[str, Any]:
    """One stock item as it is written to the file."""
    return {
        "sku": item.product.sku,
        "name": item.product.name,
        "unit_price": float(item.product.unit_price),
        "category": item.product.category,
        "on_hand": item.on_hand,
        "reserved": item.reserved,
        "reorder_level": item.reorder_level,
    }


def item_from_dict(data: dict[str, Any]) -> StockItem:
    """The reverse of `item_to_dict`."""
    product = Product(
        sku=data["sku"],
        name=data["name"],
        unit_price=Decimal(data["unit_price"]),
        category=data.get("category", "general"),
    )
    return StockItem(
        product,
        on_hand=data["on_hand"],
        reserved=data.get("reserved", 0),
    )


def save(warehouse: Warehouse, path: Path) -> None:
    """Write the warehouse to a file, replacing it in one step."""
    document = {"version": FORMAT_VERSION, "items": [item_to_dict(item) for item in warehouse]}
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(document, indent=2, ensure_ascii=False), encoding="utf-8")
    draft.replace(path)


def load(path: Path) -> Warehouse:
    """Read a warehouse file; files of version 1 had no reservations."""
    document = json.loads(path.read_text(encoding="utf-8"))
    if document["version"] > FORMAT_VERSION:
        raise InventoryError(f"{path.name} was written by a newer version")
    warehouse = Warehouse()
    for data in document["items"]:
        item = item_from_dict(data)
        warehouse._items[item.product.sku] = item
    return warehouse
'''

REPORT = '''\
"""Plain text tables for the back office."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from inventory.models import Order, StockItem
from inventory.pricing import line_total, order_total

GAP = "  "


def low_stock(items: Iterable[StockItem]) -> list[StockItem]:
    """Items whose free units are down to the reorder level, most urgent first."""
    short = [item for item in items if item.available < item.reorder_level]
    return sorted(short, key=lambda item: (item.available, item.product.sku))


def stock_value(items: Iterable[StockItem]) -> Decimal:
    """What the whole stock is worth at list price."""
    return sum((item.value for item in items), Decimal(0))


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[int]) -> str:
    """Lay out rows in columns; the columns in `right` are aligned to the right."""
    widths = [len(title) for title in header]
    lines = []
    for row in [header, *rows]:
        cells = [
            cell.rjust(widths[index]) if index in right else cell.ljust(widths[index])
            for index, cell in enumerate(row)
        ]
        lines.append(GAP.join(cells).rstrip())
    lines.insert(1, GAP.join("-" * width for width in widths))
    return "\\n".join(lines)


def stock_report(items: Iterable[StockItem]) -> str:
    """A table of everything in the warehouse."""
    kept = list(items)
    rows = [
        [
            item.product.sku,
            item.product.name,
            str(item.on_hand),
            str(item.reserved),
            str(item.available),
            f"{item.value:.2f}",
        ]
        for item in kept
    ]
    body = table(
        ["SKU", "Name", "On hand", "Reserved", "Available", "Value"],
        rows,
        right=frozenset({2, 3, 4, 5}),
    )
    return f"{body}\\n\\nTotal value: {stock_value(kept):.2f} EUR"


def invoice(order: Order) -> str:
    """The invoice of an order as plain text."""
    rows = [
        [
            line.product.name,
            str(line.quantity),
            f"{line.product.unit_price:.2f}",
            f"{line_total(line):.2f}",
        ]
        for line in order.lines
    ]
    totals = order_total(order)
    body = table(["Item", "Qty", "Price", "Total"], rows, right=frozenset({1, 2, 3}))
    foot = [
        f"Net:   {totals.net:.2f} EUR",
        f"Tax:   {totals.tax:.2f} EUR",
        f"Total: {totals.gross:.2f} EUR",
    ]
    return "\\n".join([f"Invoice {order.number} for {order.customer}", "", body, "", *foot])
'''

CONFTEST = '''\
"""Products and a stocked warehouse shared by the tests."""

from decimal import Decimal

import pytest

from inventory.models import Product
from inventory.storage import Warehouse


@pytest.fixture
def mug() -> Product:
    return Product("MUG-01", "Enamel mug", Decimal("7.90"))


@pytest.fixture
def tea() -> Product:
    return Product("TEA-01", "Jasmine tea, 250 g", Decimal("12.35"), category="food")


@pytest.fixture
def tray() -> Product:
    return Product("TRY-01", "Café tray with two handles", Decimal("24.50"))


@pytest.fixture
def warehouse(mug: Product, tea: Product, tray: Product) -> Warehouse:
    house = Warehouse()
    house.receive(mug, 40, reorder_level=10)
    house.receive(tea, 12, reorder_level=4)
    house.receive(tray, 3)
    return house
'''

TEST_MODELS = """\
from decimal import Decimal

import pytest

from inventory.models import InventoryError, Order, OrderStatus, Product, StockItem


def test_available_leaves_out_reserved_units(mug):
    assert StockItem(mug, on_hand=8, reserved=3).available == 5


def test_value_counts_units_on_hand(mug):
    assert StockItem(mug, on_hand=10, reserved=4).value == Decimal("79.00")


def test_negative_price_is_refused():
    with pytest.raises(ValueError, match="negative"):
        Product("BAD-01", "Broken", Decimal("-1"))


def test_adding_the_same_product_twice_joins_the_lines(mug):
    order = Order("A-1", "Nadia")
    order.add(mug, 2)
    order.add(mug, 3)
    assert len(order.lines) == 1
    assert order.lines[0].quantity == 5


def test_units_counts_all_lines(mug, tea):
    order = Order("A-2", "Nadia")
    order.add(mug, 4)
    order.add(tea)
    assert order.units == 5


def test_placed_orders_cannot_grow(mug):
    order = Order("A-3", "Nadia", status=OrderStatus.PLACED)
    with pytest.raises(InventoryError, match="A-3 is placed"):
        order.add(mug)
"""

TEST_PRICING = """\
from decimal import Decimal

import pytest

from inventory.models import Order, OrderLine
from inventory.pricing import discount_rate, line_total, order_total, round_money, tax_rate


@pytest.mark.parametrize(
    ("amount", "expected"),
    [("2.344", "2.34"), ("2.345", "2.35"), ("2.346", "2.35"), ("2.355", "2.36")],
)
def test_half_a_cent_is_rounded_up(amount, expected):
    assert round_money(Decimal(amount)) == Decimal(expected)


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [(1, "0"), (9, "0"), (10, "0.05"), (49, "0.05"), (50, "0.10"), (100, "0.15"), (500, "0.15")],
)
def test_discount_starts_at_the_threshold(quantity, expected):
    assert discount_rate(quantity) == Decimal(expected)


def test_line_total_takes_the_discount_off(mug):
    assert line_total(OrderLine(mug, 10)) == Decimal("75.05")


def test_unknown_categories_are_taxed_as_general():
    assert tax_rate("garden") == tax_rate("general")


def test_order_total_adds_tax_by_category(mug, tea):
    order = Order("B-1", "Oskar")
    order.add(mug, 2)
    order.add(tea, 1)
    totals = order_total(order)
    assert totals.net == Decimal("28.15")
    assert totals.tax == Decimal("3.84")
    assert totals.gross == Decimal("31.99")


def test_empty_order_costs_nothing():
    assert order_total(Order("B-2", "Oskar")).gross == 0
"""

TEST_STORAGE = """\
import json
from decimal import Decimal

import pytest

from inventory.models import InventoryError, Order, OrderStatus, OutOfStock, UnknownProduct
from inventory.storage import load, save


def test_receive_adds_to_what_is_there(warehouse, mug):
    warehouse.receive(mug, 5)
    assert warehouse.item("MUG-01").on_hand == 45


def test_unknown_sku(warehouse):
    with pytest.raises(UnknownProduct, match="NOPE"):
        warehouse.item("NOPE")


def test_reserved_units_cannot_be_reserved_again(warehouse):
    warehouse.reserve("TEA-01", 10)
    with pytest.raises(OutOfStock, match="wanted 5, only 2 available"):
        warehouse.reserve("TEA-01", 5)


def test_place_is_all_or_nothing(warehouse, mug, tray):
    order = Order("C-1", "Ines")
    order.add(mug, 4)
    order.add(tray, 9)
    with pytest.raises(OutOfStock):
        warehouse.place(order)
    assert warehouse.item("MUG-01").reserved == 0
    assert order.status is OrderStatus.DRAFT


def test_ship_takes_units_out(warehouse, mug):
    order = Order("C-2", "Ines")
    order.add(mug, 4)
    warehouse.place(order)
    warehouse.ship(order)
    item = warehouse.item("MUG-01")
    assert (item.on_hand, item.reserved) == (36, 0)


def test_cancel_releases_units(warehouse, tea):
    order = Order("C-3", "Ines")
    order.add(tea, 6)
    warehouse.place(order)
    warehouse.cancel(order)
    assert warehouse.item("TEA-01").available == 12


def test_saved_stock_comes_back_the_same(warehouse, tmp_path):
    warehouse.reserve("TEA-01", 2)
    save(warehouse, tmp_path / "stock.json")
    assert list(load(tmp_path / "stock.json")) == list(warehouse)


def test_prices_stay_exact_in_the_file(warehouse, tmp_path):
    save(warehouse, tmp_path / "stock.json")
    text = (tmp_path / "stock.json").read_text(encoding="utf-8")
    assert '"unit_price": "12.35"' in text


def test_version_1_files_can_still_be_read(tmp_path):
    old = {"sku": "OLD-1", "name": "Old jar", "unit_price": 3.2, "on_hand": 7}
    path = tmp_path / "stock.json"
    path.write_text(json.dumps({"version": 1, "items": [old]}))
    item = load(path).item("OLD-1")
    assert item.product.unit_price == Decimal("3.2")
    assert (item.reserved, item.reorder_level) == (0, 5)


def test_newer_files_are_refused(tmp_path):
    path = tmp_path / "stock.json"
    path.write_text('{"version": 9, "items": []}')
    with pytest.raises(InventoryError, match="newer version"):
        load(path)
"""

TEST_REPORT = """\
from decimal import Decimal

from inventory.models import Order
from inventory.report import invoice, low_stock, stock_report, stock_value


def test_low_stock_includes_items_at_their_level(warehouse):
    warehouse.reserve("TEA-01", 8)
    assert [item.product.sku for item in low_stock(warehouse)] == ["TRY-01", "TEA-01"]


def test_nothing_is_low_in_a_full_warehouse(warehouse, tray):
    warehouse.receive(tray, 30)
    assert low_stock(warehouse) == []


def test_stock_value(warehouse):
    assert stock_value(warehouse) == Decimal("537.70")


def test_stock_report_lines_up(warehouse):
    assert stock_report(warehouse).splitlines() == [
        "SKU     Name                        On hand  Reserved  Available   Value",
        "------  --------------------------  -------  --------  ---------  ------",
        "MUG-01  Enamel mug                       40         0         40  316.00",
        "TEA-01  Jasmine tea, 250 g               12         0         12  148.20",
        "TRY-01  Café tray with two handles        3         0          3   73.50",
        "",
        "Total value: 537.70 EUR",
    ]


def test_invoice_shows_the_totals(mug, tea):
    order = Order("D-1", "Café Lumière")
    order.add(mug, 12)
    order.add(tea, 2)
    text = invoice(order)
    assert text.startswith("Invoice D-1 for Café Lumière\\n")
    assert "Net:   114.76 EUR" in text
    assert "Total: 134.13 EUR" in text
"""

FILES: dict[str, str] = {
    "README.md": README,
    "CHANGELOG.md": CHANGELOG,
    "pyproject.toml": PYPROJECT,
    "inventory/__init__.py": INIT,
    "inventory/models.py": MODELS,
    "inventory/pricing.py": PRICING,
    "inventory/storage.py": STORAGE,
    "inventory/report.py": REPORT,
    "tests/conftest.py": CONFTEST,
    "tests/test_models.py": TEST_MODELS,
    "tests/test_pricing.py": TEST_PRICING,
    "tests/test_storage.py": TEST_STORAGE,
    "tests/test_report.py": TEST_REPORT,
}
