"""Rules about further fields of KVTransferConfig."""

from hmactl.rules.case import Rule
from hmactl.rules.con import con007_unknown_field, con019_refused_field

RULES: tuple[Rule, ...] = (
    con007_unknown_field,
    con019_refused_field,
)
