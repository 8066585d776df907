//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-G6pzoE5c.js", include_bytes!("assets/feed-G6pzoE5c.js")),
    ("assets/index-BzXVKFfd.css", include_bytes!("assets/index-BzXVKFfd.css")),
    ("assets/index-CxC0uqV4.js", include_bytes!("assets/index-CxC0uqV4.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
