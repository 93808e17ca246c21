autocmd BufNewFile,BufRead *.vlad setfiletype vlad
