//! `SearchIndex`: entries, their scopes and their order.

use domain::{
    ConversationId, Seq, TenantId,
    search::{SearchPhrases, SearchScope, indexed},
};
use ports::{
    FollowerPosition, FollowerStep, RemovedEntries, RemovedMessages, SearchEntry, SearchMatch,
    SearchPosition, SearchQuery, TITLE_SEQ,
};

use crate::{Store, fixture, results::ResultExt as _};

fn entry(conversation: u32, message_seq: i64, order: i64, text: &str) -> SearchEntry {
    SearchEntry {
        conversation_id: fixture::conversation_id(conversation),
        message_seq,
        order,
        scopes: vec![SearchScope::tenant(&fixture::tenant())],
        words: indexed(text),
    }
}

fn at(seq: i64) -> FollowerPosition {
    FollowerPosition {
        seq: Seq(seq),
        backfilled_to: None,
    }
}

fn step(tenant: TenantId, from: Option<i64>, to: i64) -> FollowerStep {
    FollowerStep {
        tenant,
        from: from.map(at),
        to: at(to),
    }
}

/// Stores the first entries of the tenant.
async fn begin(storage: &Store, entries: &[SearchEntry]) {
    let first = step(fixture::tenant(), None, 1);
    assert!(storage.search.apply(&first, &[], entries).await.success());
}

fn query(text: &str) -> SearchQuery {
    SearchQuery {
        scopes: vec![vec![SearchScope::tenant(&fixture::tenant())]],
        phrases: SearchPhrases::parse(text),
        after: None,
        limit: 100,
    }
}

async fn find_by(storage: &Store, query: &SearchQuery) -> Vec<SearchMatch> {
    let found = storage.search.find(&fixture::tenant(), query).await;
    found.success()
}

/// The conversations and messages that contain the words, in their order.
async fn find(storage: &Store, text: &str) -> Vec<(ConversationId, i64)> {
    let found = find_by(storage, &query(text)).await;
    let found = found.iter();
    found
        .map(|it| (it.position.conversation_id, it.message_seq))
        .collect()
}

fn places<const N: usize>(places: [(u32, i64); N]) -> Vec<(ConversationId, i64)> {
    places
        .map(|(id, seq)| (fixture::conversation_id(id), seq))
        .to_vec()
}

/// An entry is found by all of its words in any order. The newest are first.
pub async fn entries_are_found_by_words_and_phrases(storage: &Store) {
    let entries = [
        entry(1, 1, 10, "Where is my parcel? It is BROKEN"),
        entry(1, 2, 30, "Your e-mail parcel"),
        entry(2, TITLE_SEQ, 20, "parcel mail e"),
        entry(
            3,
            1,
            40,
            "東京タワー and Straße 'quoted' \"x\" a:b & c|d !e <f>",
        ),
        entry(3, 2, 50, ""),
    ];
    begin(storage, &entries).await;
    let found = [
        ("parcel", places([(1, 2), (2, TITLE_SEQ), (1, 1)])),
        ("BROKEN parcel", places([(1, 1)])),
        ("broken mail", vec![]),
        ("mail", places([(1, 2), (2, TITLE_SEQ)])),
        ("parc", vec![]),
        ("東", places([(3, 1)])),
        ("straße", places([(3, 1)])),
        ("quoted x a b c d !e <f>", places([(3, 1)])),
        ("and OR parcel", vec![]),
    ];
    for (text, expected) in found {
        assert_eq!(find(storage, text).await, expected, "{text}");
    }
}

/// Entries with a phrase are found, wherever it stands and however often its words occur. Others with its words may
/// be found, too.
pub async fn phrases_are_found_in_texts_of_any_length(storage: &Store) {
    let many = "many words ".repeat(8_500);
    let entries = [
        entry(1, 1, 10, &format!("first-word {many} last-word")),
        entry(1, 2, 11, "Your e-mail: 東京タワー"),
        entry(1, 3, 12, &format!("{} 終点です", "字 ".repeat(16_500))),
        entry(1, 4, 13, "mail e"),
    ];
    begin(storage, &entries).await;
    let found = [
        ("first-word", 1),
        ("last-word", 1),
        ("many-words", 1),
        ("e-mail", 2),
        ("東京", 2),
        ("終点", 3),
    ];
    for (text, message) in found {
        let found = find(storage, text).await;
        assert!(
            found.contains(&places([(1, message)])[0]),
            "{text}: {found:?}"
        );
    }
    for text in ["first-mail", "終京"] {
        assert!(find(storage, text).await.is_empty(), "{text}");
    }
}

/// An entry is found in its scopes only, and in those of its tenant.
pub async fn entries_are_found_in_their_scopes(storage: &Store) {
    let tenant = fixture::tenant();
    let user = |name| SearchScope::user(&tenant, name);
    let agent = |number| SearchScope::agent(&tenant, fixture::agent_id(number));
    let of = |number: u32, name, agent_number| {
        let mut entry = entry(number, 1, i64::from(number), "parcel");
        entry.scopes.extend([user(name), agent(agent_number)]);
        entry
    };
    begin(
        storage,
        &[of(1, "ada", 1), of(2, "ada", 2), of(3, "bob", 3)],
    )
    .await;
    let found = async |scopes| {
        let query = SearchQuery {
            scopes,
            ..query("parcel")
        };
        let found = find_by(storage, &query).await.into_iter();
        found.map(|it| it.position.order).collect::<Vec<_>>()
    };
    assert_eq!(found(vec![vec![user("ada")]]).await, [2, 1]);
    assert_eq!(
        found(vec![vec![user("ada")], vec![agent(1), agent(3)]]).await,
        [1]
    );
    assert_eq!(found(vec![vec![agent(1), agent(3)]]).await, [3, 1]);
    assert!(found(vec![vec![user("eve")]]).await.is_empty());

    let other = fixture::tenant_named("other");
    assert!(
        storage
            .search
            .apply(&step(other.clone(), None, 1), &[], &[])
            .await
            .success()
    );
    let found = storage.search.find(&other, &query("parcel")).await;
    assert!(found.success().is_empty());
    // A word of the text is no scope.
    let scope = SearchScope::user(&tenant, "eve");
    let named = entry(4, 1, 4, scope.as_str());
    let named_step = step(tenant, Some(1), 2);
    assert!(
        storage
            .search
            .apply(&named_step, &[], &[named])
            .await
            .success()
    );
    let query = SearchQuery {
        scopes: vec![vec![scope.clone()]],
        ..query(scope.as_str())
    };
    assert!(find_by(storage, &query).await.is_empty());
}

/// A page continues after a place, and shows which conversations were found before.
pub async fn a_search_continues_after_a_place(storage: &Store) {
    let numbers = [(1, 1), (2, 1), (1, 2), (3, 1), (2, 2), (2, 3)];
    let entries: Vec<_> = numbers
        .into_iter()
        .zip(10..)
        .map(|((conversation, seq), order)| entry(conversation, seq, order, "parcel"))
        .collect();
    begin(storage, &entries).await;
    let after = |order, conversation| SearchQuery {
        after: Some(SearchPosition {
            order,
            conversation_id: fixture::conversation_id(conversation),
        }),
        ..query("parcel")
    };
    let shown = |found: Vec<SearchMatch>| -> Vec<_> {
        let found = found.into_iter();
        found
            .map(|it| (it.position.order, it.is_repeated))
            .collect()
    };
    let limited = SearchQuery {
        limit: 2,
        ..query("parcel")
    };
    let first = shown(find_by(storage, &limited).await);
    assert_eq!(first, [(15, false), (14, false)]);
    let rest = shown(find_by(storage, &after(14, 2)).await);
    assert_eq!(rest, [(13, false), (12, false), (11, true), (10, false)]);
    let rest = shown(find_by(storage, &after(12, 1)).await);
    assert_eq!(rest, [(11, true), (10, true)]);
}

/// Entries with one order are all found, and found once over pages.
pub async fn entries_with_equal_orders_are_all_found(storage: &Store) {
    let entries: Vec<_> = (1..=5)
        .map(|number| entry(number, 1, 7, "parcel"))
        .collect();
    begin(storage, &entries).await;
    let mut query = SearchQuery {
        limit: 2,
        ..query("parcel")
    };
    let mut found = Vec::new();
    loop {
        let page = find_by(storage, &query).await;
        let Some(last) = page.last() else { break };
        query.after = Some(last.position);
        found.extend(page.iter().map(|it| it.position.conversation_id));
    }
    found.sort_unstable();
    let expected: Vec<_> = (1..=5).map(fixture::conversation_id).collect();
    assert_eq!(found, expected);
}

/// A step replaces entries of the same message, after it has removed messages.
pub async fn a_step_replaces_and_removes_messages(storage: &Store) {
    let entries = [
        entry(1, 1, 10, "parcel one"),
        entry(1, 2, 11, "parcel two"),
        entry(1, 3, 12, "parcel three"),
        entry(2, 2, 13, "parcel four"),
    ];
    begin(storage, &entries).await;
    let removed = RemovedMessages {
        conversation_id: fixture::conversation_id(1),
        from_seq: 2,
        to_seq: 3,
    };
    let replaced = [
        entry(1, 1, 20, "letter one"),
        entry(1, 3, 21, "parcel again"),
    ];
    let next = step(fixture::tenant(), Some(1), 2);
    assert!(
        storage
            .search
            .apply(&next, &[removed], &replaced)
            .await
            .success()
    );
    assert_eq!(find(storage, "parcel").await, places([(1, 3), (2, 2)]));
    assert_eq!(find(storage, "letter").await, places([(1, 1)]));
    assert!(find(storage, "two").await.is_empty());
    assert!(find(storage, "three").await.is_empty());
}

/// A step from another position writes nothing.
pub async fn a_step_from_another_position_writes_nothing(storage: &Store) {
    let tenant = fixture::tenant();
    assert_eq!(storage.search.position(&tenant).await.success(), None);
    begin(storage, &[entry(1, 1, 10, "parcel")]).await;
    for from in [None, Some(0), Some(2)] {
        let stale = step(tenant.clone(), from, 3);
        let removed = RemovedMessages {
            conversation_id: fixture::conversation_id(1),
            from_seq: 1,
            to_seq: 1,
        };
        let entries = [entry(2, 1, 11, "parcel")];
        assert!(
            !storage
                .search
                .apply(&stale, &[removed], &entries)
                .await
                .success()
        );
    }
    assert_eq!(find(storage, "parcel").await, places([(1, 1)]));
    assert_eq!(
        storage.search.position(&tenant).await.success(),
        Some(at(1))
    );
    let positions = storage.search.positions().await.success();
    assert_eq!(positions, [(tenant, at(1))]);
}

/// The entries of a conversation, and of a scope, are removed in parts of a given size.
pub async fn entries_are_removed_in_parts(storage: &Store) {
    let tenant = fixture::tenant();
    let scope = SearchScope::agent(&tenant, fixture::agent_id(1));
    let mut entries: Vec<_> = (1..=5)
        .map(|seq| entry(1, seq, 10 + seq, "parcel"))
        .collect();
    entries.extend((1..=3).map(|seq| SearchEntry {
        scopes: vec![SearchScope::tenant(&tenant), scope.clone()],
        ..entry(2, seq, 20 + seq, "parcel")
    }));
    entries.push(entry(3, 1, 30, "parcel"));
    begin(storage, &entries).await;
    let remove = async |entries: &RemovedEntries| {
        let removed = storage.search.remove(&tenant, entries, 2).await;
        removed.success()
    };
    let conversation = RemovedEntries::Conversation(fixture::conversation_id(1));
    for expected in [2, 2, 1, 0] {
        assert_eq!(remove(&conversation).await, expected);
    }
    let of_agent = RemovedEntries::Scope(scope);
    for expected in [2, 1, 0] {
        assert_eq!(remove(&of_agent).await, expected);
    }
    assert_eq!(find(storage, "parcel").await, places([(3, 1)]));
}
