//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-Bn1_v89d.js", include_bytes!("assets/feed-Bn1_v89d.js")),
    ("assets/files-M9-fu8aU.js", include_bytes!("assets/files-M9-fu8aU.js")),
    ("assets/index-DX9cqHZi.js", include_bytes!("assets/index-DX9cqHZi.js")),
    ("assets/index-yNNWQV6p.css", include_bytes!("assets/index-yNNWQV6p.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
