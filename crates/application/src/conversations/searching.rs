//! The search in conversations.

use std::collections::{BTreeSet, HashMap, HashSet};

use domain::{
    AsOf, Conversation, ConversationId, Page, Principal, Seq, TenantId, TextMatch, cursor,
    search::{SearchPhrases, SearchScope},
};
use ports::{
    ConversationConditions, ConversationFilter, ConversationText, SearchMatch, SearchPosition,
    SearchQuery, TITLE_SEQ,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{ConversationError, ConversationListing, ConversationService};

/// The maximum number of matches that one call reads.
const MAX_MATCHES: usize = 10_000;
/// The number of matches that are read together at first. A page is often full with them, and the store finds a few
/// much sooner than many.
const FIRST_MATCHES: usize = 100;
/// The number of matches that are read together afterwards.
const MATCHES: usize = 1_000;
/// The number of conversations that are read together.
const CONVERSATIONS: usize = 100;

/// A page of the conversations that a search has found.
#[derive(Debug)]
pub struct FoundConversations {
    /// The conversations, by their newest match.
    pub page: Page<Conversation>,
    /// The cursor of the next page.
    pub next: Option<String>,
    /// The last event whose text was found; `None` while older texts are still being indexed.
    pub searched_to: Option<Seq>,
}

#[derive(Serialize, Deserialize)]
struct Position {
    order: i64,
    id: Uuid,
}

/// A search in progress.
struct Search {
    query: SearchQuery,
    filter: ConversationFilter,
    /// Without a rating.
    conditions: ConversationConditions,
    /// The maximum number of conversations.
    limit: usize,
    seen: HashSet<ConversationId>,
    found: Vec<Conversation>,
    /// The position of the log at the first read.
    position: Option<Seq>,
}

impl Search {
    /// Adds a conversation, unless the text was deleted or has changed since it was indexed.
    fn add(&mut self, conversation: &Conversation, seq: i64, message: Option<ConversationText>) {
        let title = conversation.title.as_deref().filter(|_| seq == TITLE_SEQ);
        let text = message.as_ref().map(|message| &*message.content).or(title);
        let Some(snippet) = text.and_then(|text| self.query.phrases.snippet(text)) else {
            return;
        };
        if self.seen.insert(conversation.id) {
            let message_id = message.map(|message| message.id);
            let matched = TextMatch {
                message_id,
                snippet,
            };
            self.found.push(Conversation {
                matched: Some(matched),
                ..conversation.clone()
            });
        }
    }
}

/// Returns the scopes of a filter. A list without scopes finds nothing.
fn scopes(tenant: &TenantId, filter: &ConversationFilter) -> Vec<Vec<SearchScope>> {
    let whose = match &filter.user_id {
        Some(user) => SearchScope::user(tenant, user),
        None => SearchScope::tenant(tenant),
    };
    let agents = filter.agents.ids();
    let agents = agents.map(|ids| {
        ids.iter()
            .map(|id| SearchScope::agent(tenant, *id))
            .collect()
    });
    [vec![whose]].into_iter().chain(agents).collect()
}

impl ConversationService {
    /// Finds the conversations whose title or one of whose messages contains all words of `text`.
    pub async fn search(
        &self,
        caller: &Principal,
        listing: ConversationListing,
        text: &str,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<AsOf<FoundConversations>, ConversationError> {
        let listing = listing.permitted_to(caller)?;
        let tenant = &caller.tenant;
        let binding = (tenant.as_str(), "search", &listing, text);
        let after = cursor
            .map(|cursor| cursor::decode::<Position>(&binding, cursor))
            .transpose()
            .map_err(|_invalid| ConversationError::InvalidCursor)?;
        let filter = listing.filter(caller);
        let indexed = self.search.position(tenant).await?;
        let is_whole = indexed.is_some_and(|position| position.backfilled_to.is_none());
        let indexed_to = indexed.map_or(Seq(0), |position| position.seq);
        let mut search = Search {
            query: SearchQuery {
                scopes: scopes(tenant, &filter),
                phrases: SearchPhrases::parse(text),
                after: after.map(|position| SearchPosition {
                    order: position.order,
                    conversation_id: ConversationId::new(position.id),
                }),
                limit: FIRST_MATCHES,
            },
            filter,
            conditions: listing.conditions.clone(),
            limit,
            seen: HashSet::new(),
            found: Vec::new(),
            position: None,
        };
        let is_finished = self.search_pages(caller, &mut search).await?;
        let last = search.query.after.filter(|_| !is_finished);
        let next = last.map(|last| {
            let (order, id) = (last.order, last.conversation_id.uuid());
            cursor::encode(&binding, &Position { order, id })
        });
        // If nothing was found, no conversation was read.
        let position = search.position.unwrap_or(indexed_to);
        let page = Page {
            has_more: next.is_some(),
            items: search.found,
        };
        Ok(AsOf {
            value: FoundConversations {
                page: page.map(|found| found.shown_to(caller)),
                next,
                searched_to: is_whole.then_some(indexed_to),
            },
            position,
        })
    }

    /// Searches until the page is full. Returns whether nothing is left.
    async fn search_pages(
        &self,
        caller: &Principal,
        search: &mut Search,
    ) -> Result<bool, ConversationError> {
        if search.query.phrases.phrases().is_empty()
            || search.query.scopes.iter().any(Vec::is_empty)
        {
            return Ok(true);
        }
        let mut read = 0;
        while read < MAX_MATCHES {
            let matches = self.search.find(&caller.tenant, &search.query).await?;
            read += matches.len();
            let is_last = matches.len() < search.query.limit;
            search.query.limit = MATCHES.min(MAX_MATCHES.saturating_sub(read));
            for chunk in matches.chunks(CONVERSATIONS) {
                if self.read_found(caller, search, chunk).await? {
                    return Ok(false);
                }
            }
            if is_last {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the conversations of matches. Returns whether the page is full.
    async fn read_found(
        &self,
        caller: &Principal,
        search: &mut Search,
        matches: &[SearchMatch],
    ) -> Result<bool, ConversationError> {
        let is_new = |it: &&SearchMatch| {
            !it.is_repeated && !search.seen.contains(&it.position.conversation_id)
        };
        let new: Vec<_> = matches.iter().filter(is_new).collect();
        let conversations = &self.ports.conversations;
        let ids: BTreeSet<_> = new.iter().map(|it| it.position.conversation_id).collect();
        let ids: Vec<_> = ids.into_iter().collect();
        let read = conversations.find_all(&caller.tenant, &ids).await?;
        search.position.get_or_insert(read.position);
        let is_wanted = |it: &Conversation| {
            search.filter.matches(it) && search.conditions.match_apart_from_ratings(it)
        };
        let wanted = read.value.into_iter().filter(is_wanted);
        let found: HashMap<_, _> = wanted.map(|it| (it.id, it)).collect();
        let places = new
            .iter()
            .map(|it| (it.position.conversation_id, it.message_seq));
        let is_message = |(id, seq): &(_, i64)| *seq != TITLE_SEQ && found.contains_key(id);
        let places: Vec<_> = places.filter(is_message).collect();
        let texts = conversations.texts(&caller.tenant, &places).await?;
        let mut texts: HashMap<_, _> = texts
            .into_iter()
            .map(|text| ((text.conversation_id, text.seq), text))
            .collect();
        for it in new {
            search.query.after = Some(it.position);
            let (id, seq) = (it.position.conversation_id, it.message_seq);
            if let Some(conversation) = found.get(&id) {
                search.add(conversation, seq, texts.remove(&(id, seq)));
            }
            if search.found.len() == search.limit {
                return Ok(true);
            }
        }
        search.query.after = matches.last().map(|it| it.position);
        Ok(false)
    }
}
