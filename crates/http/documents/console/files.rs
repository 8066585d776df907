//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-7hmx84Gl.js", include_bytes!("assets/feed-7hmx84Gl.js")),
    ("assets/index-jZrBdpgr.js", include_bytes!("assets/index-jZrBdpgr.js")),
    ("assets/index-yXQXkVdj.css", include_bytes!("assets/index-yXQXkVdj.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
