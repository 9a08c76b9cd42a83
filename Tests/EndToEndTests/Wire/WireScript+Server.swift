extension WireScript {
    static let push = #"""
        # Devices
        alice PUT /v1/push/devices/phone {"service":"fcm","token":"a1","language":"pt-BR","topic":"com.example"}
        alice PUT /v1/push/devices/pad {"service":"apns","token":"00ff","development":true}
        alice PUT /v1/push/devices/web
            {"service":"web","token":"https://push.test/1","keys":{"p256dh":"BP4z","auth":"AA"}}
        <<alice/phone putPushDevice "device":"watch","service":"fcm","token":"a2" || alice GET /v1/push/devices>>
        <<alice/phone pushDevices || bob/phone putPushDevice "device":"phone","service":"fcm","token":"a1">>
        <<alice/phone pushDevices || alice DELETE /v1/push/devices/web || alice/phone dropPushDevice "device":"watch">>
        <<alice DELETE /v1/push/devices/none || alice/phone dropPushDevice "device":"none">>
        root POST /v1/admin/users/alice/push <<{} || {"device":"pad"}>>
        - GET /v1/push/devices
        reader <<PUT /v1/push/devices/phone {"service":"fcm","token":"a1"} || DELETE /v1/push/devices/phone>>
        alice PUT /v1/push/devices/phone <<{} || {"service":"fcm"} || {"service":"pigeon","token":"a1"} ||
            {"service":"fcm","token":7} || {"service":"fcm","token":""} || {"service":"apns","token":"xyz"} ||
            {"service":"web","token":"https://push.test/1"} ||
            {"service":"web","token":"https://push.test/1","keys":{"auth":"AA"}} ||
            {"service":"fcm","token":"a1","language":"none such"} ||
            {"service":"fcm","token":"a1","development":"yes"}>>
        alice <<PUT /v1/push/devices/%01 {"service":"fcm","token":"a1"} || PUT /v1/push/devices/phone>>
        alice DELETE /v1/push/devices/%01
        alice/phone putPushDevice <<"service":"fcm","token":"a1" || "device":"phone","token":"a1" ||
            "device":7,"service":"fcm","token":"a1" || "device":"phone","service":"pigeon","token":"a1" ||
            "device":"phone","service":"fcm","token":"a1","keys":7>>
        alice/phone dropPushDevice << || "device":"">>
        <<alice POST /v1/admin/users/alice/push {} || root POST /v1/admin/users/carol/push {}>>
        root POST /v1/admin/users/alice/push <<{"device":7} || not JSON>>
        # Preferences
        alice/phone pushPreferences
        alice/phone setPushPreferences "push":{"language":"de","showsDetail":false,"level":"mentions",
            "quietHours":{"from":"22:00","to":"07:00","timeZone":"Europe/Paris","allowsMentions":true}}
        <<alice PUT /v1/users/alice {"push":{"level":null}} || alice/phone pushPreferences>>
        alice/phone setPushPreferences <<"push":{"language":null,"showsDetail":true,"quietHours":null} ||  ||
            "push":7 || "push":{"level":"some"} || "push":{"showsDetail":1} || "push":{"language":"none such"} ||
            "push":{"quietHours":{"from":"22:00"}} ||
            "push":{"quietHours":{"from":"x","to":"07:00","timeZone":"Europe/Paris"}}>>
        alice PUT /v1/users/alice {"push":{"level":"some"}}
        alice/limited connectRaw {"type":"hello","token":"{reader}","device":"limited"}
        alice/limited putPushDevice "device":"phone","service":"fcm","token":"a1"
        alice/limited <<dropPushDevice "device":"phone" || setPushPreferences "push":{}>>
        """#

    static let admin = #"""
        # Tokens
        root POST /v1/tokens {"user":"erin"} => erin:token
        root POST /v1/tokens {"user":"erin","expiresIn":60,"scopes":["read","write"]} => narrow:token
        <<erin GET /v1/me || narrow PUT /v1/blocks/bob || erin/phone connect || root DELETE /v1/users/erin/tokens>>
        <<erin GET /v1/me || root DELETE /v1/users/ghost/tokens>>
        <<- || alice>> POST /v1/tokens {"user":"erin"}
        root POST /v1/tokens <<{} || {"user":""} || {"user":"erin","expiresIn":0} || {"user":"erin","expiresIn":"60"} ||
            {"user":"erin","scopes":[]} || {"user":"erin","scopes":["media"]} || {"user":"erin","scopes":"read"} ||
            {"user":"erin" || [Content-Type: text/plain] {"user":"erin"}>>
        alice DELETE /v1/users/erin/tokens
        # States
        <<carol/phone connect || root PUT /v1/users/carol/state {"state":"deactivated"} || carol GET /v1/me>>
        <<carol/phone connect || root PUT /v1/users/carol/state {"state":"active"} || carol GET /v1/me>>
        <<alice PUT /v1/users/carol/state {"state":"active"} || root PUT /v1/users/root/state {"state":"deactivated"}>>
        root PUT /v1/users/carol/state <<{} || {"state":"gone"} || {"state":7} || >>
        # Lists
        root GET /v1/admin/users<< || ?limit=1&prefix=a || ?state=active&cursor=alice>>
        root GET /v1/admin/conversations<< || ?kind=group&prefix=c&limit=1 || ?user=alice&limit=1 ||
            ?user=alice&cursor=1>>
        root GET /v1/admin/connections
        root GET /v1/admin/connections?limit=1 => last:cursor
        root GET /v1/admin/connections?<<limit=1&cursor={last} || user=bob>>
        root DELETE /v1/admin/connections/alice/laptop
        root DELETE /v1/admin/connections/<<bob || ghost>>
        <<- || alice>> GET /v1/admin/users
        root GET /v1/admin/users?<<state=old || limit=101 || limit=1&limit=1>>
        alice GET /v1/admin/conversations
        root GET /v1/admin/conversations?<<kind=club || cursor=x || user=alice&kind=group || user=alice&cursor=x>>
        alice GET /v1/admin/connections
        root GET /v1/admin/connections?<<cursor=x || limit=x || user=>>
        alice <<DELETE /v1/admin/connections/alice || DELETE /v1/admin/connections/alice/phone>>
        root <<DELETE /v1/admin/connections/%01 || DELETE /v1/admin/connections/alice/%01>>
        # Nodes
        root <<GET /v1/admin/nodes || POST /v1/admin/nodes/1/drain || POST /v1/admin/generation {"generation":"1"}>>
        <<- || alice>> GET /v1/admin/nodes
        alice <<POST /v1/admin/nodes/1/drain || POST /v1/admin/generation {"generation":"1"}>>
        root <<POST /v1/admin/nodes/n1/drain || POST /v1/admin/generation {} || POST /v1/admin/generation not JSON>>
        # Secrets
        <<- || alice || root>> POST /v1/admin/secret {"overlapDays":367}
        root POST /v1/admin/secret {"overlapDays":"7"}
        # Backups
        <<- || alice || root>> <<GET || POST>> /v1/admin/backups
        # Erasure
        dave PUT /v1/users/dave {"name":"Dave"}
        root DELETE /v1/users/dave?messages=erase => job:id
        root GET /v1/admin/jobs/{job} until "state":"done"
        <<dave GET /v1/me || root GET /v1/users/dave || alice DELETE /v1/users/dave?messages=keep>>
        root <<DELETE /v1/users/phantom?messages=keep || DELETE /v1/users/root?messages=keep || DELETE /v1/users/alice>>
        root DELETE /v1/users/alice?<<messages=burn || messages=keep&messages=keep>>
        alice GET /v1/admin/jobs/{job}
        root GET /v1/admin/jobs/<<99 || x || 0>>
        # Settings
        root GET /v1/settings
        root PUT /v1/settings {"replayDays":3,"notices":true,"bannedWords":{"words":["darn"],"action":"reject"}}
        alice POST {crew}/messages {"id":"{m20}","type":"text","content":{"text":"darn it"}}
        <<root PUT /v1/settings {"allowsHistory":false} || alice GET {crew}/messages || root PUT /v1/settings {}>>
        alice <<GET /v1/settings || PUT /v1/settings {}>>
        # Audit log
        root GET /v1/audit?<<limit=3 || limit=2&cursor=3 || action=ban || user=erin || actor=root&limit=1 ||
            conversation=group:crew&limit=1 || conversation=group:none || action=walk || cursor=x>>
        alice GET /v1/audit
        # Webhooks
        root PUT /v1/settings {"webhooks":{"subscriptions":
            {"bot":{"url":"http://127.0.0.1:1/","secret":"0123456789abcdef","events":["pin","vote"]}}}}
        root GET /v1/webhooks/<<bot/deliveries || bot/deliveries?state=pending&limit=1 || none/deliveries ||
            bot/deliveries?state=lost || bot/deliveries?cursor=x>>
        root POST /v1/webhooks/<<bot/replay {"from":1,"through":9} || bot/replay {"from":2,"through":1} ||
            bot/replay {"from":1} || none/replay {"from":1,"through":1}>>
        alice <<GET /v1/webhooks/bot/deliveries || POST /v1/webhooks/bot/replay {"from":1,"through":1}>>
        root PUT /v1/settings {"webhooks":null}
        root PUT /v1/settings <<{"replayDays":-1} || {"replayDays":"3"} || {"retentionDays":"never"} ||
            {"mediaRetentionDays":0} || {"allowsHistory":1} || {"bannedWords":{"words":"darn"}} || {"webhooks":7} ||
            {"push":{"intervalSeconds":-1}} || {"push":{"services":{"fcm":{}}}} || [1] || >>
        # Incoming webhooks
        root PUT /v1/admin/hooks/alerts {"conversation":"group:crew","user":"alice"} => hook:url
        root PUT /v1/admin/hooks/alerts {"conversation":"group:crew","user":"bob"}
        root PUT /v1/admin/hooks/<<Alerts {"conversation":"group:crew","user":"bob"} ||
            other {"conversation":"group:none","user":"bob"} || other {"conversation":"group:crew","user":"ghost"} ||
            other {"conversation":"group:crew"}>>
        root PUT /v1/admin/hooks/kept {"conversation":"direct:alice","user":"bob"}
        root GET /v1/admin/hooks<< || ?user=alice || ?limit=1&cursor=a || ?limit=101>>
        - POST {hook} <<{"text":"<https://ci.test/7|build 7> &amp; <!here>"} ||
            {"attachments":[{"title":"Disk","fields":[{"title":"Host","value":"db1"}]}]} || {} || {"text":7} || [1] ||
            not JSON || {"text":"darn"}>>
        - POST /v1/hooks/<<none.x || alerts.x || x>> {"text":"hi"}
        root POST /v1/admin/hooks/alerts/secret => new:url
        - POST <<{hook} || {new}>> {"text":"hi"}
        root POST /v1/admin/hooks/none/secret
        root DELETE /v1/admin/hooks/<<alerts || none>>
        - POST {new} {"text":"hi"}
        alice <<GET /v1/admin/hooks || PUT /v1/admin/hooks/x {"conversation":"group:crew","user":"bob"} ||
            POST /v1/admin/hooks/x/secret || DELETE /v1/admin/hooks/x>>
        """#

    static let media = #"""
        # Whole uploads
        alice POST {media}&type=file&name=a%20b.txt {plain} => file:media
        alice POST {media}&type=image&id={m50} {png} => image:media
        alice POST {media}&type=image&id={m50} {png}
        alice POST {crew}/messages {"id":"{m4}","type":"file","content":{"media":"{file}"}}
        alice GET /v1/media/{file}
        bob <<GET /v1/media/{file} [Range: bytes=1-2] || GET /v1/media/{file} [Range: bytes=9-]>>
        alice HEAD /v1/media/{file}
        alice GET /v1/media/{image} => etag:@etag
        alice <<GET /v1/media/{image} [If-None-Match: {etag}] || PUT /v1/media/{file}/thumbnail {png}>>
        alice GET /v1/media/{file}/thumbnail
        alice POST /v1/media/{file}/link => link:url
        alice POST /v1/media/{file}/link {"expiresIn":60,"thumbnail":true} => small:url
        - <<GET {link} || GET {small}>>
        alice OPTIONS /v1/media
        <<- || carol || reader>> POST {media} {plain}
        alice <<POST /v1/media {plain} || POST /v1/media?conversation=crew {plain} || POST {media}&type=song {plain}>>
        alice <<POST {media}&type=file&type=file {plain} || POST {media}&type=image [Content-Type: image/png] hello>>
        alice POST {media}&id=x {plain}
        alice POST {media} [Content-Type: text/plain
            | Repr-Digest: sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:] hello
        - OPTIONS /v1/media
        <<- || carol>> GET /v1/media/{file}
        alice GET /v1/media/<<{m99} || x>>
        alice GET /v1/media/{image}/thumbnail
        - GET /v1/media/{file}?<<token=none || token=a&token=b>>
        bob PUT /v1/media/{file}/thumbnail {png}
        alice PUT /v1/media/{file}/thumbnail [Content-Type: image/png] hello
        <<alice PUT /v1/media/{m99}/thumbnail {png} || carol POST /v1/media/{file}/link {}>>
        alice POST /v1/media/{file}/link <<{"expiresIn":0} || {"expiresIn":"60"}>>
        alice POST /v1/media/{image}/link {"thumbnail":true}
        alice POST /v1/media/{file}/link <<{"thumbnail":1} || not JSON>>
        # Resumable uploads
        alice POST {media}&name=r.txt [Upload-Draft-Interop-Version: 6 | Upload-Complete: ?0] hel => upload:@location
        alice HEAD /v1/uploads/{upload} [Upload-Draft-Interop-Version: 6]
        alice PATCH /v1/uploads/{upload} [Upload-Draft-Interop-Version: 6 | Upload-Complete: ?1 | Upload-Offset: 3
            | Content-Type: application/partial-upload] lo
        alice HEAD /v1/uploads/{upload} [Upload-Draft-Interop-Version: 6]
        alice POST {media} [Upload-Draft-Interop-Version: 3 | Upload-Incomplete: ?1] hel => other:@location
        alice PATCH /v1/uploads/{other} <<[Upload-Draft-Interop-Version: 3 | Upload-Incomplete: ?0
            | Upload-Offset: 1] lo || [Upload-Draft-Interop-Version: 6 | Upload-Offset: 3] lo ||
            [Upload-Draft-Interop-Version: 6 | Upload-Complete: ?1 | Content-Type: application/partial-upload] lo>>
        alice <<DELETE || HEAD>> /v1/uploads/{other}
        alice PATCH /v1/uploads/{other} [Upload-Draft-Interop-Version: 3 | Upload-Incomplete: ?0 | Upload-Offset: 3] lo
        alice DELETE /v1/uploads/{other}
        <<- || bob>> HEAD /v1/uploads/{upload}
        alice <<HEAD || DELETE>> /v1/uploads/{upload} [Upload-Offset: 1]
        - <<DELETE /v1/uploads/{upload} || PATCH /v1/uploads/{upload} [Upload-Offset: 5] x>>
        <<reader HEAD /v1/uploads/{upload} || alice DELETE /v1/uploads/x>>
        """#

    static let probes = #"""
        # Probes
        <<- GET /healthz || carol HEAD /v1/me>>
        - GET /<<readyz || metrics || openapi.json>>
        <<alice || root>> GET /metrics
        - <<GET /v1/connect || GET /v1/connect [Sec-WebSocket-Protocol: other | Sec-WebSocket-Version: 13]>>
        # Paths and methods
        - GET /none
        alice <<GET /v1/none || GET {crew}/messages/{m1}/none>>
        - <<POST /healthz || POST /readyz || POST /metrics || POST /openapi.json || DELETE /v1/me>>
        alice <<PATCH {crew} || POST /v1/blocks/carol || PUT {crew}/bans || POST /v1/reports/1>>
        alice <<OPTIONS /v1/conversations || HEAD /v1/conversations/group:none>>
        """#
}
