//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-DCx_FjMU.js", include_bytes!("assets/feed-DCx_FjMU.js")),
    ("assets/index-BUfkK0JI.js", include_bytes!("assets/index-BUfkK0JI.js")),
    ("assets/index-BzXVKFfd.css", include_bytes!("assets/index-BzXVKFfd.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
