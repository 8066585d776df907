//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-Bk7TeQOR.js", include_bytes!("assets/feed-Bk7TeQOR.js")),
    ("assets/files-CY3aSZGX.js", include_bytes!("assets/files-CY3aSZGX.js")),
    ("assets/index-B2ZQEwpI.js", include_bytes!("assets/index-B2ZQEwpI.js")),
    ("assets/index-yNNWQV6p.css", include_bytes!("assets/index-yNNWQV6p.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
