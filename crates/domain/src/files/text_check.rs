//! The check that a file is text, while its chunks arrive.

/// The bytes of the beginning that tell whether it is markup.
const BEGINNING_BYTES: usize = 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The elements of HTML, and those that begin other documents for browsers.
const ELEMENTS: &str = "a abbr address area article aside audio b base bdi bdo big blockquote body br \
    button canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir \
    div dl dt em embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 \
    head header hgroup hr html i iframe img input ins kbd label legend li link main map mark marquee \
    math menu meta meter nav noframes noscript object ol optgroup option output p param picture pre \
    progress q rp rt ruby s samp script search section select slot small source span strike strong \
    style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt \
    u ul var video wbr xmp";

/// The reasons why a file is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoText {
    /// It is not valid UTF-8, or contains NUL.
    Encoding,
    /// It begins as HTML, XML, SVG or PDF.
    Markup,
}

/// Checks a file in constant memory.
#[derive(Debug, Default)]
pub(super) struct TextCheck {
    is_invalid: bool,
    /// The first bytes of a character whose others have not arrived.
    unfinished: Vec<u8>,
    /// The first bytes after white space and byte order marks.
    beginning: Vec<u8>,
}

impl TextCheck {
    /// Reads the next chunk.
    pub(super) fn push(&mut self, chunk: &[u8]) {
        if self.is_invalid {
            return;
        }
        self.is_invalid = chunk.contains(&0) || !self.continues_utf8(chunk);
        self.keep_beginning(chunk);
    }

    /// Judges the file after its last chunk.
    pub(super) fn finish(&self) -> Result<(), NoText> {
        if self.is_invalid || !self.unfinished.is_empty() {
            return Err(NoText::Encoding);
        }
        if begins_as_markup(&self.beginning) {
            return Err(NoText::Markup);
        }
        Ok(())
    }

    fn continues_utf8(&mut self, mut chunk: &[u8]) -> bool {
        while !self.unfinished.is_empty() {
            let Some((next, rest)) = chunk.split_first() else {
                return true;
            };
            self.unfinished.push(*next);
            chunk = rest;
            match std::str::from_utf8(&self.unfinished) {
                Ok(_) => self.unfinished.clear(),
                Err(error) if error.error_len().is_some() => return false,
                Err(_) => {}
            }
        }
        match std::str::from_utf8(chunk) {
            Ok(_) => true,
            Err(error) => {
                self.unfinished.extend(&chunk[error.valid_up_to()..]);
                error.error_len().is_none()
            }
        }
    }

    fn keep_beginning(&mut self, mut chunk: &[u8]) {
        while !chunk.is_empty() && self.beginning.len() < BEGINNING_BYTES {
            let room = BEGINNING_BYTES - self.beginning.len();
            let (next, rest) = chunk.split_at(room.min(chunk.len()));
            self.beginning.extend_from_slice(next);
            let skipped = self.beginning.len() - trim_start(&self.beginning).len();
            self.beginning.drain(..skipped);
            chunk = rest;
        }
    }
}

fn trim_start(mut text: &[u8]) -> &[u8] {
    loop {
        let trimmed = text.trim_ascii_start();
        let trimmed = trimmed.strip_prefix(BYTE_ORDER_MARK).unwrap_or(trimmed);
        if trimmed.len() == text.len() {
            return text;
        }
        text = trimmed;
    }
}

/// Returns `true` if browsers or viewers could take a text with this beginning for a document. Declarations
/// and comments count as HTML, and an element of any name with a namespace as XML.
fn begins_as_markup(beginning: &[u8]) -> bool {
    let begins = |prefix: &[u8]| {
        let start = beginning.get(..prefix.len());
        start.is_some_and(|it| it.eq_ignore_ascii_case(prefix))
    };
    if [b"%PDF-".as_slice(), b"<!doctype", b"<!--", b"<?xml"]
        .into_iter()
        .any(begins)
    {
        return true;
    }
    let Some(tag) = beginning.strip_prefix(b"<") else {
        return false;
    };
    let is_in_name = |it: &u8| !it.is_ascii_whitespace() && !matches!(it, b'>' | b'/');
    let name_length = tag.iter().take_while(|&it| is_in_name(it)).count();
    let is_ended = name_length < tag.len();
    let name = &tag[..name_length];
    let mut elements = ELEMENTS.split_ascii_whitespace();
    let is_element = elements.any(|it| it.as_bytes().eq_ignore_ascii_case(name));
    is_ended && is_element || has_namespace(&tag[name_length..])
}

/// Returns `true` if the tag whose attributes these are declares a namespace.
fn has_namespace(attributes: &[u8]) -> bool {
    let tag = attributes
        .split(|&it| it == b'>')
        .next()
        .unwrap_or_default();
    tag.windows(6)
        .any(|it| it[0].is_ascii_whitespace() && &it[1..] == b"xmlns")
}
