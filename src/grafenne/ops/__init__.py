"""The only hot code: sparse products, segment softmax and cheap randomness."""

from grafenne.ops.adjacency import Adjacency
from grafenne.ops.arrays import first_rows
from grafenne.ops.attention import attention_product, column_attention_product
from grafenne.ops.dropout import Dropout, RandomBits, hashed_keep, set_random_bits
from grafenne.ops.pattern import SparsePattern
from grafenne.ops.products import gather_columns, gather_rows, sparse_product
from grafenne.ops.thinning import thinned

__all__ = [
    "Adjacency",
    "Dropout",
    "RandomBits",
    "SparsePattern",
    "attention_product",
    "column_attention_product",
    "first_rows",
    "gather_columns",
    "gather_rows",
    "hashed_keep",
    "set_random_bits",
    "sparse_product",
    "thinned",
]
