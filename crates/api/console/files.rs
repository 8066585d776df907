//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-DoALmKQ1.js", include_bytes!("assets/feed-DoALmKQ1.js")),
    ("assets/index-CQlcNUJM.css", include_bytes!("assets/index-CQlcNUJM.css")),
    ("assets/index-GLvlKu29.js", include_bytes!("assets/index-GLvlKu29.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
