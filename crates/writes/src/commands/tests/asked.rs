//! The facts that a decision asks for.

use std::hash::Hash;

use ports::{
    FactsQuery,
    write_store::{EventInDoubt, LoggedQuery},
};

use super::*;

/// Returns those of `all` that a batch asks for, in any of its rounds.
pub(super) fn asked_facts(batch: &Batch, all: &Facts) -> Facts {
    let mut asked = Facts::default();
    for round in 0.. {
        let Some(query) = batch.query(round, &asked) else {
            break;
        };
        add(&query, all, &mut asked);
    }
    asked
}

/// Adds those of `all` that `query` names.
fn add(query: &FactsQuery, all: &Facts, asked: &mut Facts) {
    let FactsQuery {
        tenants,
        agents,
        new_agents,
        conversations,
        new_conversations,
        new_names,
        turns,
        open_turns,
        credentials: _,
        new_credentials: _,
        whole_credentials: _,
        users,
        notes: _,
        files: _,
        uploads: _,
        feedback: _,
        idempotency,
        nodes,
        logged,
        swept,
        journals,
        running_turns,
    } = query;
    asked.heads.extend(found(tenants, |key| all.heads.get(key)));
    asked
        .agents
        .extend(found(agents, |key| all.agents.get(key)));
    let existing = new_agents.iter();
    let existing = existing.filter(|key| all.existing_agents.contains(key));
    asked.existing_agents.extend(existing.cloned());
    let conversations = conversations.iter().chain(new_conversations);
    let conversations = found(conversations, |key| all.conversations.get(key));
    asked.conversations.extend(conversations);
    asked
        .named
        .extend(found(new_names, |key| all.named.get(key)));
    asked.turns.extend(found(turns, |key| all.turns.get(key)));
    let open = found(open_turns, |key| all.open_turns.get(key));
    asked.open_turns.extend(open);
    add_credentials(query, all, asked);
    add_notes_and_ratings(query, all, asked);
    add_files(query, all, asked);
    asked.users.extend(found(users, |key| all.users.get(key)));
    let records = found(idempotency, |key| all.idempotency.get(key));
    asked.idempotency.extend(records);
    let live = nodes.iter().filter(|node| all.live_nodes.contains(node));
    asked.live_nodes.extend(live);
    let named = |event: &&EventInDoubt| logged.as_ref().is_some_and(|query| is_named(query, event));
    asked
        .logged
        .extend(all.logged.iter().filter(named).cloned());
    if swept.is_some() {
        asked.swept.clone_from(&all.swept);
    }
    let journals = found(journals, |key| all.journals.get(key));
    asked.journals.extend(journals);
    let running = running_turns.iter();
    let running = running.filter(|turn| all.running_turns.contains(turn));
    asked.running_turns.extend(running.cloned());
}

fn add_credentials(query: &FactsQuery, all: &Facts, asked: &mut Facts) {
    let named = query.credentials.iter().map(|key| &key.id);
    let named = named.chain(&query.new_credentials);
    let credentials = found(named, |id| all.credentials.get(id));
    asked.credentials.extend(credentials);
    let whole = found(&query.whole_credentials, |id| all.whole_credentials.get(id));
    asked.whole_credentials.extend(whole);
}

fn add_notes_and_ratings(query: &FactsQuery, all: &Facts, asked: &mut Facts) {
    let notes = query.notes.iter();
    let notes = notes.filter(|note| all.notes.contains(note));
    asked.notes.extend(notes.cloned());
    let ratings = found(&query.feedback, |key| all.feedback.get(key));
    asked.feedback.extend(ratings);
}

fn add_files(query: &FactsQuery, all: &Facts, asked: &mut Facts) {
    let files = found(&query.files, |key| all.files.get(key));
    asked.files.extend(files);
    let uploads = found(&query.uploads, |day| all.uploads.get(day));
    asked.uploads.extend(uploads);
}

fn is_named(query: &LoggedQuery, event: &EventInDoubt) -> bool {
    let since = query.since.get(&event.tenant);
    let conversations = &query.conversations;
    let is_of_conversation = event
        .conversation_id
        .is_some_and(|id| conversations.contains(&id));
    let is_of_agent = event.agent_id.is_some_and(|id| query.agents.contains(&id));
    since.is_some_and(|since| event.seq > *since) && (is_of_conversation || is_of_agent)
}

/// Returns the facts with these keys.
fn found<'k, 'f, K: Clone + Eq + Hash + 'k, T: Clone + 'f>(
    keys: impl IntoIterator<Item = &'k K>,
    fact: impl Fn(&K) -> Option<&'f T>,
) -> impl Iterator<Item = (K, T)> {
    let keys = keys.into_iter();
    keys.filter_map(move |key| Some((key.clone(), fact(key)?.clone())))
}
