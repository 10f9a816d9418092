"""RESULTS.md says what the lines say, the paper's numbers beside it, and compares fairly."""

from __future__ import annotations

import math
import statistics

from scipy import stats

from experiments.rows import LP, MANY, MANY_LP, OURS, line_of, row
from metatne.evidence.head import VERSION
from metatne.experiments.comparison import p_value
from metatne.experiments.report import write_report


def test_a_table_has_means_and_the_papers_numbers() -> None:
    page = write_report({"overall": [*OURS, *LP]})
    assert "### ppi, 10/20" in page
    cells = line_of(page, "MetaTNE (default)")
    spread = statistics.stdev([0.71, 0.72, 0.73, 0.74])
    assert cells[1:4] == ["4", f"0.7250 ± {spread:.4f}", "0.6865"]
    assert cells[-2:] == ["25.0", "0.90"]
    assert line_of(page, "LP")[1:4:2] == ["4", "0.6285"]
    # The paper's order: LP first.
    assert page.index("| LP |") < page.index("| MetaTNE (default) |")


def test_the_papers_network_stands_beside_the_papers_numbers() -> None:
    small = [row("metatne-paper", 1, 0.68, preset="paper-small")]
    page = write_report({"overall": [*OURS, *small]})
    assert line_of(page, "MetaTNE of the paper (paper-small)")[3] == "0.6865"


def test_the_preset_that_a_study_is_about_is_held_against_the_others() -> None:
    brief = [
        row("metatne", trial, 0.69, preset="brief", config_hash="-", version=1)
        for trial in (1, 2, 3, 4)
    ]
    page = write_report({"overall": [*OURS, *brief, *LP]})
    assert page.count("less each other method") == 1
    assert "MetaTNE (default) less each other method" in page
    # Where that preset has no trial, those that have one.
    page = write_report({"overall": [*brief, *LP]})
    assert "MetaTNE (brief) less each other method" in page


def test_a_summary_holds_the_default_against_the_paper_and_the_best_other() -> None:
    degree = [row("degree", trial, 0.5) for trial in range(1, 9)]
    page = write_report({"overall": [*MANY, *MANY_LP, *degree]})
    assert page.index("## At a glance") < page.index("### ppi, 10/20")
    cells = line_of(page, "ppi, 10/20")
    gaps = [0.1 - trial / 100 for trial in range(2, 8)]
    theirs = statistics.mean(0.6 + trial / 50 for trial in range(2, 8))
    lead = statistics.mean(gaps)
    assert cells[1:4] == ["7", "0.7400 / 0.5000 / 0.6000", "0.6865 / 0.5188 / 0.5621"]
    assert cells[4:] == ["LP (6)", f"{theirs:.4f}", f"{lead:+.4f}", p_value(gaps)]
    alone = write_report({"overall": [*MANY, *degree]})  # a control that learns nothing
    assert line_of(alone, "ppi, 10/20")[4:] == ["", "", "", ""]


def test_trials_of_an_earlier_head_are_told_apart() -> None:
    before = [row("metatne", trial, 0.6, version=VERSION - 1, config_hash="-") for trial in (1, 2)]
    page = write_report({"overall": [*OURS, *before]})
    assert line_of(page, "MetaTNE (default)")[1] == "4"
    assert line_of(page, "MetaTNE (default), earlier version")[1] == "2"
    assert "## At a glance" not in write_report({"overall": before})


def test_a_lead_over_controls_that_learn_nothing_is_none() -> None:
    degree = [row("degree", trial, 0.5) for trial in range(1, 8)]
    before = [row("metagnn", trial, 0.65, version=1) for trial in range(1, 8)]
    page = write_report({"overall": [*MANY, *degree, *before]})
    assert line_of(page, "ppi, 10/20")[4] == ""
    few = [row("line", trial, 0.69) for trial in (1, 2, 3)]
    page = write_report({"overall": [*MANY, *degree, *few]})
    assert line_of(page, "ppi, 10/20")[4] == "LINE (3)"
    ahead = [row("unlabelled", trial, 0.73) for trial in range(1, 8)]
    page = write_report({"overall": [*MANY, *ahead, *few]})
    assert line_of(page, "ppi, 10/20")[4] == "No known label (7)"


def test_improvement_is_over_methods_of_today_that_share_trials() -> None:
    lp = [row("lp", trial, 0.6) for trial in (1, 2)]
    before = [row("metagnn", trial, 0.7, version=1) for trial in (1, 2)]
    elsewhere = [row("gcn", trial, 0.7) for trial in (8, 9)]
    page = write_report({"overall": [*OURS, *lp, *before, *elsewhere]})
    (line,) = (each for each in page.splitlines() if each.startswith("| % improvement"))
    assert "(without LINE, Node2vec, Planetoid, GCN, Meta-GNN)" in line
    assert line.count("over LP (2)") == 3


def test_the_start_of_planetoid_is_named_for_what_it_is() -> None:
    rows = [row("planetoid", 1, 0.6, best_step=0), row("planetoid", 2, 0.6, best_step=120)]
    rows += [row("planetoid", 3, 0.6)]  # of before, which does not say
    page = write_report({"overall": rows})
    assert (
        "In 1 of its 2 trials validation tasks liked the start of Planetoid best, by walks" in page
    )


def test_the_best_other_method_of_the_summary_is_todays() -> None:
    lp = [row("lp", trial, 0.6) for trial in range(1, 8)]
    before = [row("metagnn", trial, 0.65, version=1) for trial in range(1, 8)]
    page = write_report({"overall": [*MANY, *lp, *before]})
    assert line_of(page, "ppi, 10/20")[4] == "LP (7)"


def test_the_summary_says_how_many_queries_there_are_where_that_varies() -> None:
    page = write_report({"overall": [*OURS, row("metatne", 1, 0.6, query_negatives=50)]})
    assert line_of(page, "ppi, 10/20, queries 10/20")[1] == "4"
    assert line_of(page, "ppi, 10/20, queries 10/50")[1] == "1"


def test_methods_compare_on_the_trials_that_both_have() -> None:
    few = write_report({"overall": [*OURS, *LP]})
    gaps = [0.72 - 0.64, 0.73 - 0.66, 0.74 - 0.68]
    cells = line_of(few[few.index("less each other method") :], "LP")
    assert cells[:3] == ["LP", "3", f"{statistics.mean(gaps):+.4f}"]
    assert cells[4] == ""  # too few to test
    page = write_report({"overall": [*MANY, *MANY_LP]})
    gaps = [0.70 + t / 100 - (0.60 + t / 50) for t in range(2, 8)]
    cells = line_of(page[page.index("less each other method") :], "LP")
    assert cells[1] == "6"
    assert cells[4] == p_value(gaps) != ""


def test_improvement_is_over_the_best_of_the_papers_methods_by_each_metric() -> None:
    lp = [row("lp", trial, 0.64, f1=0.25, recall=0.8) for trial in (1, 2, 3, 4)]
    line = [row("line", trial, 0.60, f1=0.40, recall=0.0) for trial in (2, 3)]
    ridge = [row("ridge", trial, 0.99, f1=0.9) for trial in (1, 2)]  # the paper lacks it
    page = write_report({"overall": [*OURS, *lp, *line, *ridge]})
    few = "% improvement of MetaTNE (default) (without Node2vec, Planetoid, GCN, Meta-GNN)"
    cells = line_of(page, few)
    over_lp, over_line = 100 * (0.725 / 0.64 - 1), 100 * (0.5 / 0.40 - 1)
    assert cells[2::2][:3] == [
        f"{over_lp:+.1f} over LP (4)",
        f"{over_line:+.1f} over LINE (2)",
        "-25.0 over LP (4)",
    ]
    papers = ["+1.1 over Planetoid", "+11.0 over Planetoid", "+27.4 over Planetoid"]
    assert cells[3::2][:3] == papers  # the last line of the paper's Table 2
    elsewhere = write_report({"ablation": [*OURS, *lp]})
    assert "% improvement of" not in elsewhere
    unlabelled = [each | {"protocol": "unlabelled-queries"} for each in (*OURS, *lp)]
    none_of = few.replace("without", "without LINE,")
    cells = line_of(write_report({"overall": unlabelled}), none_of)
    assert cells[2:5] == [f"{over_lp:+.1f} over LP (4)", "+100.0 over LP (4)", "-25.0 over LP (4)"]


def test_a_difference_is_also_told_as_a_share() -> None:
    page = write_report({"overall": [row("metatne", 1, 0.75), row("lp", 1, 0.6)]})
    cells = line_of(page[page.index("less each other method") :], "LP")
    assert cells == ["LP", "1", "+0.1500", "+25.0", ""]


def test_metatne_of_the_paper_is_held_against_the_other_methods_too() -> None:
    small = [
        row("metatne-paper", trial, 0.66, preset="paper-small", version=1) for trial in (2, 3, 4)
    ]
    page = write_report({"overall": [*OURS, *LP, *small]})
    ours, papers = page.split(" less each other method on the trials that both have, AUC:")[1:]
    assert line_of(ours, "MetaTNE of the paper (paper-small)")[1:3] == ["3", "+0.0700"]
    assert line_of(papers, "LP")[1:3] == ["3", "+0.0000"]
    assert "| MetaTNE (default) |" not in papers


def test_other_protocols_and_query_sets_are_tables_of_their_own() -> None:
    rows = [*OURS, row("metatne", 1, 0.5, protocol="unlabelled-queries")]
    page = write_report({"overall": [*rows, row("metatne", 1, 0.6, query_negatives=50)]})
    assert "### ppi, 10/20, queries 10/50" in page
    title = "### ppi, 10/20, queries 10/20, protocol unlabelled-queries"
    assert "0.6865" not in page[page.index(title) :]  # the paper has no such cell


def points_of(page: str, start: str) -> list[list[str]]:
    lines = [line for line in page.splitlines() if line.startswith(f"| {start}")]
    return [[cell.strip() for cell in line.removesuffix("|").split("|")[1:]] for line in lines]


def test_the_points_of_a_figure_stand_in_one_table() -> None:
    """With our lead on the trials that both have at that point."""
    rows = [
        row(method, trial, auc + trial / 100, negatives=n, query_negatives=n)
        for method, auc in (("metatne", 0.7), ("planetoid", 0.6))
        for trial in (1, 2)
        for n in (10, 30)
    ]
    rows += [row("planetoid", 3, 0.9, negatives=10, query_negatives=10)]
    rows += [row("planetoid", 1, 0.1, query_negatives=50)]  # none of ours at that point
    page = write_report({"negatives": rows, "overall": OURS})
    page = page[page.index("`metatne reproduce negatives`") :]
    assert page.count("###") == 1
    assert "### ppi\n" in page
    assert "less each other method" not in page
    first, ours, alone, *_ = table = points_of(page, "10/")
    assert [cells[0] for cells in table] == [
        *["10/10, queries 10/10"] * 2,
        "10/20, queries 10/50",
        *["10/30, queries 10/30"] * 2,
    ]
    aucs = (0.61, 0.62, 0.9)
    spread = f"{statistics.mean(aucs):.4f} ± {statistics.stdev(aucs):.4f}"
    assert first[1:4] == ["Planetoid", "3", spread]
    assert first[-1] == "+0.1000"
    assert (ours[1], ours[-1]) == ("MetaTNE (default)", "")
    assert alone[-1] == ""


def test_the_lead_of_a_figure_is_that_of_the_shipped_head() -> None:
    other = row("planetoid", 1, 0.6)
    for names in ("ab", "ba"):  # whichever comes first
        now = row("metatne", 1, 0.8, config_hash=names[0])
        before = row("metatne", 1, 0.5, config_hash=names[1], version=VERSION - 1)
        page = write_report({"negatives": [now, before, other]})
        leads = {cells[1]: cells[-1] for cells in points_of(page, "10/20")}
        assert leads.pop("Planetoid") == "+0.2000"
        assert set(leads.values()) == {""}
    assert points_of(write_report({"negatives": [before, other]}), "10/20")[0][-1] == ""


def test_how_easy_few_trials_are_is_told() -> None:
    """By what has run on all, controls that learn nothing and ours aside."""
    many = [row("line", trial, 0.6 + trial / 100) for trial in range(1, 11)]
    many += [row("degree", trial, 0.5) for trial in range(1, 11)]
    few = [row("gcn", trial, 0.6) for trial in range(5, 11)]
    page = write_report({"overall": [*MANY, *many, *few]})
    ease = statistics.mean(range(5, 11)) / 100 - statistics.mean(range(1, 11)) / 100
    said = [line for line in page.splitlines() if line.startswith("How easy")]
    assert said == [
        "How easy the 6 trials of GCN are: on them the AUC of LINE is "
        f"{ease:.4f} above what it is on all 10.",
        "How easy the 7 trials of MetaTNE (default) are: on them the AUC of LINE is "
        "0.0150 below what it is on all 10.",
    ]
    assert "How easy the" not in write_report({"overall": [*MANY, *few]})  # nothing to tell by
    elsewhere = [row("gcn", trial, 0.6) for trial in range(51, 60)]
    assert "How easy the" not in write_report({"overall": [*many, *elsewhere]})


def test_variants_have_the_papers_f1() -> None:
    page = write_report({"ablation": [*OURS, row("v1", 1, 0.6)]})
    cells = line_of(page, "V1 (default)")
    assert cells[5] == "0.4851"
    assert cells[3] == ""


def test_variants_are_compared_by_the_papers_f1_and_by_auc() -> None:
    rows = [row("v1", trial, 0.6, f1=0.4 + trial / 100) for trial in (1, 2, 3)]
    page = write_report({"ablation": [*OURS, *rows]})
    of_f1, of_auc = page.index("both have, F1:"), page.index("both have, AUC:")
    assert of_f1 < of_auc
    assert line_of(page[of_f1:], "V1 (default)")[2] == f"{0.5 - 0.42:+.4f}"
    assert line_of(page[of_auc:], "V1 (default)")[2] == f"{0.72 - 0.6:+.4f}"


def test_variants_are_compared_with_metatne_of_their_own_preset() -> None:
    small = {"preset": "paper-small", "config_hash": "of another preset", "version": 1}
    rows = [row("v1", trial, 0.6, **small) for trial in (1, 2, 3)]
    rows += [row("metatne", trial, 0.64, **small) for trial in (1, 2, 3)]
    rows += [row("v1", trial, 0.7) for trial in (1, 2, 3)]
    page = write_report({"ablation": [*OURS, *rows]})
    of_auc = page.split(" less each other method on the trials that both have, AUC:")[1:]
    assert len(of_auc) == 2
    gaps = {"default": 0.72 - 0.7, "paper-small": 0.64 - 0.6}
    for table, (preset, gap) in zip(of_auc, gaps.items(), strict=True):
        assert line_of(table, f"V1 ({preset})")[2] == f"{gap:+.4f}"
        assert table.count("| V1 (") == 1
        assert "| MetaTNE (" not in table.partition("less each other")[0]


def test_methods_without_a_trial_are_named() -> None:
    other = [
        row("lp", 1, 0.6, protocol="unlabelled-queries"),
        row("line", 1, 0.6, tasks=20),
        row("metatne", 1, 0.6, dataset="mine"),
    ]
    page = write_report({"overall": [*OURS, *other]})
    missing = page[page.index("without a trial") :].splitlines()
    (ppi,) = (line for line in missing if "`overall`, ppi 10/20" in line)
    assert ppi.endswith(
        ": lp, node2vec, planetoid, gcn, metagnn, metatne-paper"
    )  # 20 tasks are a trial too
    assert "- `overall`, ppi 10/40: all methods" in missing
    assert "- flickr: no trial at all" in missing
    assert not any("mine" in line for line in missing)


def test_of_ones_own_graph_nothing_of_the_paper_is_missing() -> None:
    page = write_report({"overall": [row("metatne", 1, 0.6, dataset="mine")]})
    assert "without a trial" not in page


def test_one_column_of_a_figure_is_not_all_of_it() -> None:
    columns = [(k, negatives) for k in (10, 20) for negatives in (10, 20, 30, 40, 50)]
    rows = [
        row(method, 1, 0.6, negatives=30, query_positives=k, query_negatives=negatives)
        for method in ("planetoid", "metatne-paper", "metatne")
        for k, negatives in columns
    ]
    assert "`queries`" not in write_report({"queries": rows}).partition("without a trial")[2]
    assert "- `queries`, ppi 10/30: metatne" in write_report({"queries": rows[:-1]})


def test_a_start_that_was_kept_is_told() -> None:
    steps = zip(OURS, (0, 300, 0, 40), strict=True)
    page = write_report({"overall": [each | {"best_step": step} for each, step in steps]})
    assert "In 2 of its 4 trials validation tasks liked the start of MetaTNE (default) best" in page
    assert "liked the start" not in write_report({"overall": OURS})


def test_what_the_paper_does_not_have_has_no_column() -> None:
    page = write_report({"overall": [row("metatne", 1, 0.7, dataset="debian")]})
    assert "| method | trials | AUC | F1 | recall | AP | seconds | GB |\n|" + 8 * "---|" in page
    assert len(line_of(page, "MetaTNE (default)")) == 8


def test_trials_that_share_labels_are_no_fifty_independent_ones() -> None:
    """As if there were at most 1 / 0.25 = 4 of them, however many there are."""
    few, many = [0.01, 0.03] * 5, [0.01, 0.03] * 500
    for gaps in (few, many):
        t = statistics.mean(gaps) / statistics.stdev(gaps) / math.sqrt(1 / len(gaps) + 0.25)
        assert p_value(gaps) == f"{2 * stats.t.sf(t, len(gaps) - 1):.2g}"
        assert float(p_value(gaps)) > 10 * stats.ttest_1samp(gaps, 0.0).pvalue
    assert p_value([0.01] * 10) == p_value(few[:5]) == ""


def test_a_changed_baseline_is_told_apart() -> None:
    before = [row("metagnn", trial, 0.6, version=1, config_hash="-") for trial in (1, 2)]
    page = write_report({"overall": [*OURS, *before, row("metagnn", 1, 0.7, version=3)]})
    assert line_of(page, "Meta-GNN")[1] == "1"
    assert line_of(page, "Meta-GNN, earlier version")[1] == "2"
