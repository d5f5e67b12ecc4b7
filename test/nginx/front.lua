-- What ingress-nginx does in Lua (rootfs/etc/nginx/lua/lua_ingress.lua, balancer.lua, balancer/sticky.lua,
-- nginx/ngx_srv_redirect.lua), in our own words. `world` is written beside it for each cluster.
local world = require("world")
local ffi = require("ffi")
ffi.cdef("int getppid(void); int kill(int process, int signal); int fcntl(int file, int command, ...);")

local front = {}

-- start makes the listeners that a test hands over non-blocking, and ends nginx when the test has ended without a word.
function front.start()
  for file = 3, 4 do ffi.C.fcntl(file, 4, ffi.new("int", 2048)) end -- F_SETFL, O_NONBLOCK
  ngx.timer.every(1, function()
    if ffi.C.kill(world.owner, 0) ~= 0 then ffi.C.kill(ffi.C.getppid(), 15) end
  end)
  math.randomseed(world.seed)
end

-- certified tells whether a host, or the wildcard that covers it, has a certificate.
local function certified(host)
  host = host:gsub("%.$", ""):lower()
  return world.certificates[host] or world.certificates[(host:gsub("^[^.]+%.", "*.", 1))] or false
end

-- cookie is the value of the cookie of exactly this name.
local function cookie(name)
  for pair in (ngx.var.http_cookie or ""):gmatch("[^;]+") do
    local key, value = pair:match("^%s*([^=]*)=(.-)%s*$")
    if key == name then return value end
  end
end

-- mark is how a cookie of affinity names its upstream.
local function mark(upstream) return ngx.md5(ngx.md5(upstream.name) .. upstream.name) end

local function stuck(upstream)
  if not upstream.cookie then return false end
  local value = cookie(upstream.cookie.name) or ""
  return value:match("^[^|]*|([^|]*)") == mark(upstream)
end

local function diverted(policy)
  local header = ngx.var["http_" .. policy.header:gsub("-", "_")]
  if header then
    if policy.value ~= "" then
      if policy.value == header then return true end
    elseif policy.pattern ~= "" then
      local found, failed = ngx.re.match(header, policy.pattern)
      if found then return true elseif failed then return false end
    elseif header == "always" then
      return true
    elseif header == "never" then
      return false
    end
  end
  local value = ngx.var["cookie_" .. policy.cookie]
  if value == "always" then return true elseif value == "never" then return false end
  return math.random(math.max(policy.total, 100)) <= policy.weight
end

local function upstream_named(name)
  local found = world.upstreams[name]
  if found and #found.endpoints > 0 then return found end
end

-- alternative is the first canary of an upstream, if this request is for it. Affinity to either side comes first.
local function alternative(upstream)
  local first = upstream.alternatives[1]
  local canary = first and not stuck(upstream) and upstream_named(first)
  if canary and (stuck(canary) or canary.policy and diverted(canary.policy)) then return canary end
end

local function remembered(upstream)
  local host = ngx.var.host
  if ngx.var.server_name == "_" then host = "_" end
  local paths = upstream.cookie.paths[host] or upstream.cookie.paths[(host:gsub("^[^.]+%.", "*.", 1))]
  for _, path in ipairs(paths or {}) do
    if path == ngx.var.location_path then return true end
  end
  return false
end

local function endpoint(upstream)
  local all = upstream.endpoints
  if not upstream.cookie then return all[math.random(#all)] end
  local key = (cookie(upstream.cookie.name) or ""):match("^[^|]*")
  if key == "" then
    key = ngx.md5(math.random() .. ngx.now())
    if remembered(upstream) then ngx.ctx.remember = { upstream = upstream, key = key } end
  end
  return all[ngx.crc32_short(key) % #all + 1]
end

-- choose says which pod gets the request, or that there is none.
function front.choose()
  local upstream = upstream_named(ngx.var.proxy_upstream_name)
  if not upstream then return false end
  upstream = alternative(upstream) or upstream
  ngx.var.oracle_peer = upstream.name .. "|" .. endpoint(upstream)
  return true
end

local function trusted_headers()
  local v = ngx.var
  if v.http_x_forwarded_proto then v.pass_access_scheme = v.http_x_forwarded_proto end
  if v.http_x_forwarded_port then v.pass_server_port = v.http_x_forwarded_port end
  if v.http_x_forwarded_host then v.best_http_host = v.http_x_forwarded_host:match("^[^,]*") end
end

local function to_https()
  local v = ngx.var
  if v.force_no_ssl_redirect == "true" or v.pass_access_scheme ~= "http" then return false end
  return v.force_ssl_redirect == "true" or v.ssl_redirect == "true" and certified(v.host)
end

-- rewrite is what every location does first, after its own `if`, `rewrite` and `return`.
function front.rewrite()
  local v = ngx.var
  v.pass_access_scheme = v.scheme
  v.best_http_host = v.http_host or v.host
  if world.forwarded then trusted_headers() end
  if world.proxy_protocol and v.proxy_protocol_server_port == "443" then v.pass_access_scheme = "https" end
  v.pass_port = v.pass_server_port
  if to_https() then
    local uri, host = v.request_uri, v.best_http_host:match("^[^:]*")
    if v.best_http_host == "" then host = "nil" end -- that is how Lua writes what is not there
    if v.preserve_trailing_slash ~= "true" then uri = uri:gsub("/$", "") end
    if v.use_port_in_redirects == "true" then host = host .. ":443" end
    return ngx.redirect("https://" .. host .. uri, world.redirect_code)
  end
  if not front.choose() then
    ngx.status = 503
    return ngx.exit(503)
  end
end

local function set_cookie(remember)
  local c, v = remember.upstream.cookie, ngx.var
  local parts = { c.name .. "=" .. remember.key .. "|" .. mark(remember.upstream) }
  local function add(name, value) if value ~= "" then parts[#parts + 1] = name .. "=" .. value end end
  if c.expires ~= "" then add("Expires", ngx.cookie_time(ngx.time() + tonumber(c.expires))) end
  add("Max-Age", c.max_age)
  add("Domain", c.domain)
  add("Path", c.path ~= "" and c.path or v.location_path)
  if c.secure or v.https == "on" then parts[#parts + 1] = "Secure" end
  parts[#parts + 1] = "HttpOnly"
  add("SameSite", c.same)
  local others = ngx.header["Set-Cookie"] or {}
  if type(others) == "string" then others = { others } end
  others[#others + 1] = table.concat(parts, "; ")
  ngx.header["Set-Cookie"] = others
end

-- header is what every location adds to its answer.
function front.header()
  if world.hsts and ngx.var.scheme == "https" then ngx.header["Strict-Transport-Security"] = world.hsts end
  if ngx.ctx.remember and ngx.var.upstream_addr then set_cookie(ngx.ctx.remember) end
end

-- other_name is where the server of the other name, with or without www, leads.
function front.other_name(host)
  local v = ngx.var
  local scheme, port = v.scheme, v.oracle_port
  if world.forwarded then
    scheme, port = v.http_x_forwarded_proto or scheme, v.http_x_forwarded_port or port
  end
  return scheme .. "://" .. host .. ":" .. port .. v.request_uri:gsub("/$", "")
end

front.escape = ngx.escape_uri

return front
