//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-KEeLGpBQ.js", include_bytes!("assets/feed-KEeLGpBQ.js")),
    ("assets/index-HJ3RBAbi.js", include_bytes!("assets/index-HJ3RBAbi.js")),
    ("assets/index-yXQXkVdj.css", include_bytes!("assets/index-yXQXkVdj.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
