"""Reorder and group a table: sort its rows by two columns, then sum one of them by group."""

import numpy as np

import sheaf

rng = np.random.default_rng(1)
sales = np.zeros(1_000_000, dtype=[("shop", "<i4"), ("day", "<i4"), ("item", "S6"), ("price", "<f8")])
sales["shop"] = rng.integers(0, 500, len(sales))
sales["day"] = rng.integers(0, 365, len(sales))
sales["item"] = rng.choice([b"apple", b"bread", b"coffee"], len(sales))
sales["price"] = rng.integers(1, 2000, len(sales)) / 100

# Whole records move; the newest day of each shop comes first.
ordered = sheaf.sort(sales, keys=["shop", "day"], descending=[False, True])
assert (np.diff(ordered["shop"]) >= 0).all()

# The rows of each shop, without a sort: shop numbers are categories.
shop = np.ascontiguousarray(sales["shop"])
by_shop, offsets = sheaf.split(sales, shop, 500)
third = by_shop[offsets[3] : offsets[4]]
assert (third["shop"] == 3).all()

# Sums by shop, with the same bits in every run.
price = np.ascontiguousarray(sales["price"])
turnover = sheaf.scatter_reduce(price, shop, np.zeros(500))
np.testing.assert_allclose(turnover, np.bincount(shop, price, 500))

best, shops = sheaf.top_k(turnover, 3)
for s, total in zip(shops, best, strict=True):
    print(f"shop {s}: {total:.2f}")
