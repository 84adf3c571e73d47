"""The text about every finding, from the modules that make them."""

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from hmactl.rules.catalogue import all_rules, all_rules_together
from hmactl.rules.cli import (
    cli003_value_for_switch,
    cli004_no_value,
    cli005_shortened,
    cli006_surplus,
    cli007_stray_line,
    cli008_one_word,
    cli009_quotes_kept,
)
from hmactl.rules.eng import eng002_no_model_config, eng003_unknown_gpu
from hmactl.rules.env import env003_not_exported
from hmactl.rules.k8s import (
    k8s001_chart_template,
    k8s002_no_text,
    k8s003_undefined_reference,
    k8s004_no_such_key,
    k8s005_no_shell,
    k8s006_file_not_mounted,
    k8s010_values_of_a_chart,
    k8s011_prefix_caching_off,
    k8s012_pd_by_key,
    k8s013_disk_without_directory,
    k8s014_no_whole_number,
    k8s015_connector_overridden,
    k8s020_repeated_entrypoint,
    k8s021_backslash_in_compose,
    k8s022_dollar_in_compose,
    k8s023_variable_of_compose,
    k8s024_quotes_in_list,
    k8s025_json_without_quotes,
    k8s026_number_in_command,
    k8s027_command_cut_short,
    k8s028_list_is_no_json,
    k8s029_variable_in_exec_form,
    k8s030_command_without_effect,
    k8s031_form_of_a_variable,
    k8s032_no_shell_in_unit,
    k8s033_variable_in_environment,
    k8s034_relative_program,
)
from hmactl.rules.pro import (
    pro001_unreadable,
    pro002_yaml_syntax,
    pro003_duplicate_key,
    pro004_unknown_key,
    pro005_wrong_value,
    pro006_missing_key,
    pro007_conflict,
    pro008_unsupported_yaml,
)
from hmactl.rules.sup import sup001_unused, sup002_not_understood

# Found before there is a case: while a source is read, before the engine is asked, or in comments.
_FOUND_ELSEWHERE: tuple[ModuleType, ...] = (
    cli003_value_for_switch,
    cli004_no_value,
    cli005_shortened,
    cli006_surplus,
    cli007_stray_line,
    cli008_one_word,
    cli009_quotes_kept,
    eng002_no_model_config,
    eng003_unknown_gpu,
    env003_not_exported,
    k8s001_chart_template,
    k8s002_no_text,
    k8s003_undefined_reference,
    k8s004_no_such_key,
    k8s005_no_shell,
    k8s006_file_not_mounted,
    k8s010_values_of_a_chart,
    k8s011_prefix_caching_off,
    k8s012_pd_by_key,
    k8s013_disk_without_directory,
    k8s014_no_whole_number,
    k8s015_connector_overridden,
    k8s020_repeated_entrypoint,
    k8s021_backslash_in_compose,
    k8s022_dollar_in_compose,
    k8s023_variable_of_compose,
    k8s024_quotes_in_list,
    k8s025_json_without_quotes,
    k8s026_number_in_command,
    k8s027_command_cut_short,
    k8s028_list_is_no_json,
    k8s029_variable_in_exec_form,
    k8s030_command_without_effect,
    k8s031_form_of_a_variable,
    k8s032_no_shell_in_unit,
    k8s033_variable_in_environment,
    k8s034_relative_program,
    pro001_unreadable,
    pro002_yaml_syntax,
    pro003_duplicate_key,
    pro004_unknown_key,
    pro005_wrong_value,
    pro006_missing_key,
    pro007_conflict,
    pro008_unsupported_yaml,
    sup001_unused,
    sup002_not_understood,
)


def documented() -> Iterator[tuple[str, str]]:
    """Id and title of every finding, in the order of their ids."""
    for module in _modules():
        yield module.ID, _text(module).partition("\n")[0]


def explain(identifier: str) -> str | None:
    """What that finding means, its severity, examples and since when; None for an unknown id."""
    for module in _modules():
        if identifier.upper() == module.ID:
            return f"{module.ID} ({module.SEVERITY})\n\n{_text(module)}"
    return None


def _modules() -> list[Any]:
    return sorted(
        (*all_rules(), *all_rules_together(), *_FOUND_ELSEWHERE), key=lambda module: module.ID
    )


def _text(module: Any) -> str:
    return inspect.cleandoc(module.__doc__ or "")
