//! Listings of agents by the beginning of their names.

use super::agent_listing::{ids, name_prefix, store_names};
use crate::{
    Store, fixture,
    pages::{agent_names, agents_behind},
    setup,
};

/// `NamePrefix` ignores case, in the prefix and in the name.
pub async fn a_name_prefix_ignores_case(storage: &Store) {
    store_names(storage, &["Ada", "ADAM", "adele", "Bert", "xada"]).await;
    for prefix in ["ada", "ADA", "aDa"] {
        let names = agent_names(storage, &name_prefix(prefix), 10).await;
        assert_eq!(names, ["Ada", "ADAM"], "{prefix}");
    }
    let names = agent_names(storage, &name_prefix("adam and more"), 10).await;
    assert!(names.is_empty());
}

/// Case is folded by the rules of Unicode.
pub async fn a_name_prefix_ignores_case_in_any_script(storage: &Store) {
    let names = [
        "Émile",
        "ärzte",
        "ЖУК",
        "東京",
        "🦊 Fox",
        "e\u{301}mile",
        "ΟΔΟΣΑ",
        "שלום",
    ];
    store_names(storage, &names).await;
    for (prefix, expected) in [
        ("é", "Émile"),
        ("ÄR", "ärzte"),
        ("жу", "ЖУК"),
        ("東", "東京"),
        ("🦊 f", "🦊 Fox"),
        ("E\u{301}", "e\u{301}mile"),
        ("οδοσ", "ΟΔΟΣΑ"),
        ("ΟΔΟΣ", "ΟΔΟΣΑ"),
        ("של", "שלום"),
    ] {
        let found = agent_names(storage, &name_prefix(prefix), 10).await;
        assert_eq!(found, [expected], "{prefix}");
    }
}

/// A prefix is plain text, not a pattern.
pub async fn wildcards_in_a_name_prefix_are_literal(storage: &Store) {
    store_names(
        storage,
        &[
            "100% sure",
            "100 sure",
            "a_b",
            "axb",
            "c\\d",
            "cd",
            "e*",
            "ef",
        ],
    )
    .await;
    for (prefix, expected) in [
        ("100%", "100% sure"),
        ("a_", "a_b"),
        ("c\\", "c\\d"),
        ("e*", "e*"),
    ] {
        let found = agent_names(storage, &name_prefix(prefix), 10).await;
        assert_eq!(found, [expected], "{prefix}");
    }
    assert!(agent_names(storage, &name_prefix("%"), 10).await.is_empty());
    assert!(agent_names(storage, &name_prefix("'"), 10).await.is_empty());
}

/// Names are ordered by code point: not by a language, and not by UTF-16 units.
pub async fn names_are_sorted_by_code_point_then_by_id(storage: &Store) {
    let names = [
        "🦊",
        "\u{fb01}sh",
        "é",
        "zoe",
        "Zoe",
        "a-c",
        "a b",
        "ab",
        "a_b",
        "A",
    ];
    store_names(storage, &names).await;
    let sorted = [
        "A",
        "a b",
        "a-c",
        "a_b",
        "ab",
        "zoe",
        "Zoe",
        "é",
        "\u{fb01}sh",
        "🦊",
    ];
    assert_eq!(agent_names(storage, &name_prefix(""), 3).await, sorted);
}

/// Names need not be unique; agents with the same name are ordered by id.
pub async fn agents_with_equal_names_are_all_listed(storage: &Store) {
    for number in [3, 1, 5, 2, 4] {
        let name = if number % 2 == 0 { "ADA" } else { "ada" };
        setup::insert_agent(storage, fixture::agent_named(number, name)).await;
    }
    let all = agents_behind(storage, &name_prefix("Ada"), None, 2).await;
    assert_eq!(ids(&all), [1, 2, 3, 4, 5].map(fixture::agent_id));
}

/// Prefixes match up to the greatest code point, and around the gap of the surrogates.
pub async fn name_prefixes_can_end_at_the_edges_of_unicode(storage: &Store) {
    let names = ["\u{10ffff}x", "\u{d7ff}x", "\u{e000}x", "a\u{10ffff}x", "b"];
    store_names(storage, &names).await;
    for (prefix, expected) in [
        ("\u{10ffff}", "\u{10ffff}x"),
        ("\u{d7ff}", "\u{d7ff}x"),
        ("a\u{10ffff}", "a\u{10ffff}x"),
    ] {
        let found = agent_names(storage, &name_prefix(prefix), 10).await;
        assert_eq!(found, [expected], "{prefix:?}");
    }
}
