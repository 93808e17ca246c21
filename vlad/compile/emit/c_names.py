"""Names with a meaning in C and C++: an exported library must not use them for its procedures, or for parameters in its header.

Nothing here depends on the machine, so a library's header does not either.
"""

from __future__ import annotations

import re

KEYWORDS = frozenset(
    """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await co_return
co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do double dynamic_cast
else enum explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
nullptr operator or or_eq private protected public register reinterpret_cast requires restrict return short signed sizeof
static static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename typeof
typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
""".split()  # noqa: SIM905
)

# Macros of the headers of C and POSIX that expand wherever they occur, except those in capitals.
MACROS = frozenset(
    """
basename complex d_fileno errno i386 linux math_errhandling noreturn s6_addr sa_handler sa_sigaction sched_priority si_addr
si_addr_lsb si_arch si_band si_call_addr si_fd si_int si_lower si_overrun si_pid si_pkey si_ptr si_status si_stime si_syscall
si_timerid si_uid si_upper si_utime si_value sigev_notify_attributes sigev_notify_function st_atime st_ctime st_mtime stderr
stdin stdout unix
""".split()  # noqa: SIM905
)

# Names that cannot be declared together with the headers of ISO C and POSIX (as in GCC and the GNU C library), some older names
# of that library, those that a unit declares, and `main`. A library that defined one of them would also replace it in the process
# that loads the library.
DECLARED = frozenset(
    """
a64l abort abs accept access acos acosf acosh acoshf acoshl acosl active_reg_t aio_cancel aio_error aio_fsync aio_read
aio_return aio_suspend aio_write alarm alignas aligned_alloc alignof alphasort and and_eq asctime asctime_r asin asinf asinh
asinhf asinhl asinl assert at_quick_exit atan atan2 atan2f atan2l atanf atanh atanhf atanhl atanl atexit atof atoi atol atoll
atomic_bool atomic_char atomic_char16_t atomic_char32_t atomic_compare_exchange_strong atomic_compare_exchange_strong_explicit
atomic_compare_exchange_weak atomic_compare_exchange_weak_explicit atomic_exchange atomic_exchange_explicit atomic_fetch_add
atomic_fetch_add_explicit atomic_fetch_and atomic_fetch_and_explicit atomic_fetch_or atomic_fetch_or_explicit atomic_fetch_sub
atomic_fetch_sub_explicit atomic_fetch_xor atomic_fetch_xor_explicit atomic_flag atomic_flag_clear atomic_flag_clear_explicit
atomic_flag_test_and_set atomic_flag_test_and_set_explicit atomic_init atomic_int atomic_int_fast16_t atomic_int_fast32_t
atomic_int_fast64_t atomic_int_fast8_t atomic_int_least16_t atomic_int_least32_t atomic_int_least64_t atomic_int_least8_t
atomic_intmax_t atomic_intptr_t atomic_is_lock_free atomic_llong atomic_load atomic_load_explicit atomic_long atomic_ptrdiff_t
atomic_schar atomic_short atomic_signal_fence atomic_size_t atomic_store atomic_store_explicit atomic_thread_fence
atomic_uchar atomic_uint atomic_uint_fast16_t atomic_uint_fast32_t atomic_uint_fast64_t atomic_uint_fast8_t
atomic_uint_least16_t atomic_uint_least32_t atomic_uint_least64_t atomic_uint_least8_t atomic_uintmax_t atomic_uintptr_t
atomic_ullong atomic_ulong atomic_ushort atomic_wchar_t basename bcmp bcopy bind bitand bitor blkcnt_t blksize_t bool bsearch
btowc bzero c16rtomb c32rtomb cabs cabsf cabsl cacos cacosf cacosh cacoshf cacoshl cacosl calloc carg cargf cargl casin casinf
casinh casinhf casinhl casinl catan catanf catanh catanhf catanhl catanl catclose catgets catopen cbrt cbrtf cbrtl cc_t ccos
ccosf ccosh ccoshf ccoshl ccosl ceil ceilf ceill cexp cexpf cexpl cfgetispeed cfgetospeed cfsetispeed cfsetospeed char16_t
char32_t chdir chmod chown cimag cimagf cimagl clearerr clock clock_getcpuclockid clock_getres clock_gettime clock_nanosleep
clock_settime clock_t clockid_t clog clogf clogl close closedir closelog compl complex confstr conj conjf conjl connect
copysign copysignf copysignl cos cosf cosh coshf coshl cosl cpow cpowf cpowl cproj cprojf cprojl cpu_set_t creal crealf creall
creat csin csinf csinh csinhf csinhl csinl csqrt csqrtf csqrtl ctan ctanf ctanh ctanhf ctanhl ctanl ctermid ctime ctime_r
daylight dev_t difftime dirfd dirname div div_t dlclose dlerror dlopen dlsym double_t dprintf drand48 drem dup dup2 duplocale
endgrent endhostent endnetent endprotoent endpwent endservent environ erand48 erf erfc erfcf erfcl erff erfl errno execl
execle execlp execv execve execvp exit exp exp2 exp2f exp2l expf expl expm1 expm1f expm1l fabs fabsf fabsl faccessat false
fchdir fchmod fchmodat fchown fchownat fclose fcntl fd_set fdatasync fdim fdimf fdiml fdopen fdopendir feclearexcept fegetenv
fegetexceptflag fegetround feholdexcept fenv_t feof feraiseexcept ferror fesetenv fesetexceptflag fesetround fetestexcept
feupdateenv fexcept_t fexecve fflush ffs fgetc fgetpos fgets fgetwc fgetws fileno finite float_t flockfile floor floorf floorl
fma fmaf fmal fmax fmaxf fmaxl fmemopen fmin fminf fminl fmod fmodf fmodl fnmatch fopen fork fpathconf fpclassify fpos_t
fpregset_t fprintf fputc fputs fputwc fputws fread free freeaddrinfo freelocale freopen frexp frexpf frexpl fsblkcnt_t fscanf
fseek fseeko fsetpos fsfilcnt_t fstat fstatat fsync ftell ftello ftok ftruncate ftrylockfile ftw funlockfile futimens fwide
fwprintf fwrite fwscanf gai_strerror gamma gammaf gammal getaddrinfo getc getc_unlocked getchar getchar_unlocked getcwd
getdate getdate_err getdelim getegid getenv geteuid getgid getgrent getgrgid getgrgid_r getgrnam getgrnam_r getgroups
gethostbyaddr gethostbyname gethostent gethostid gethostname getitimer getline getlogin getlogin_r getnameinfo getnetbyaddr
getnetbyname getnetent getopt getpeername getpgid getpgrp getpid getppid getpriority getprotobyname getprotobynumber
getprotoent getpwent getpwnam getpwnam_r getpwuid getpwuid_r getrlimit getrusage getservbyname getservbyport getservent getsid
getsockname getsockopt getsubopt gettimeofday getuid getwc getwchar gid_t glob glob_t globfree gmtime gmtime_r grantpt greg_t
hcreate hdestroy hsearch htonl htons hypot hypotf hypotl iconv iconv_close iconv_open iconv_t id_t idtype_t if_freenameindex
if_indextoname if_nameindex if_nametoindex ilogb ilogbf ilogbl imaxabs imaxdiv imaxdiv_t in6addr_any in6addr_loopback
in_addr_t in_port_t index inet_addr inet_lnaof inet_makeaddr inet_netof inet_network inet_ntoa inet_ntop inet_pton initstate
ino_t insque int int16_t int32_t int64_t int8_t int_fast16_t int_fast32_t int_fast64_t int_fast8_t int_least16_t int_least32_t
int_least64_t int_least8_t intmax_t intptr_t isalnum isalnum_l isalpha isalpha_l isascii isatty isblank isblank_l iscntrl
iscntrl_l isdigit isdigit_l isfinite isgraph isgraph_l isinf islower islower_l isnan isnormal isprint isprint_l ispunct
ispunct_l isspace isspace_l isupper isupper_l iswalnum iswalnum_l iswalpha iswalpha_l iswblank iswblank_l iswcntrl iswcntrl_l
iswctype iswctype_l iswdigit iswdigit_l iswgraph iswgraph_l iswlower iswlower_l iswprint iswprint_l iswpunct iswpunct_l
iswspace iswspace_l iswupper iswupper_l iswxdigit iswxdigit_l isxdigit isxdigit_l j0 j1 jn jrand48 key_t kill kill_dependency
killpg l64a labs lchown lcong48 ldexp ldexpf ldexpl ldiv ldiv_t lfind lgamma lgammaf lgammal link linkat lio_listio listen
llabs lldiv lldiv_t llrint llrintf llrintl llround llroundf llroundl locale_t localeconv localtime localtime_r lockf log log10
log10f log10l log1p log1pf log1pl log2 log2f log2l logb logbf logbl logf logl longjmp lrand48 lrint lrintf lrintl lround
lroundf lroundl lsearch lseek lstat madvise main malloc math_errhandling max_align_t mblen mbrlen mbrtoc16 mbrtoc32 mbrtowc
mbsinit mbsnrtowcs mbsrtowcs mbstate_t mbstowcs mbtowc mcontext_t memccpy memchr memcmp memcpy memmove memory_order memset mkdir
mkdirat mkdtemp mkfifo mkfifoat mknod mknodat mkstemp mktime mlock mlockall mmap mode_t modf modff modfl mprotect mq_close
mq_getattr mq_notify mq_open mq_receive mq_send mq_setattr mq_timedreceive mq_timedsend mq_unlink mqd_t mrand48 msgctl msgget
msglen_t msgqnum_t msgrcv msgsnd msync munlock munlockall munmap nan nanf nanl nanosleep nearbyint nearbyintf nearbyintl
newlocale nextafter nextafterf nextafterl nexttoward nexttowardf nexttowardl nfds_t nftw nice nl_catd nl_item nl_langinfo
nl_langinfo_l nlink_t noreturn not not_eq nrand48 ntohl ntohs off_t offsetof open open_memstream open_wmemstream openat
opendir openlog optarg opterr optind optopt or or_eq pathconf pause pclose perror pid_t pipe poll popen posix_fadvise
posix_fallocate posix_madvise posix_memalign posix_openpt posix_spawn posix_spawn_file_actions_addclose
posix_spawn_file_actions_adddup2 posix_spawn_file_actions_addopen posix_spawn_file_actions_destroy
posix_spawn_file_actions_init posix_spawn_file_actions_t posix_spawnattr_destroy posix_spawnattr_getflags
posix_spawnattr_getpgroup posix_spawnattr_getschedparam posix_spawnattr_getschedpolicy posix_spawnattr_getsigdefault
posix_spawnattr_getsigmask posix_spawnattr_init posix_spawnattr_setflags posix_spawnattr_setpgroup
posix_spawnattr_setschedparam posix_spawnattr_setschedpolicy posix_spawnattr_setsigdefault posix_spawnattr_setsigmask
posix_spawnattr_t posix_spawnp pow powf powl pread printf pselect psiginfo psignal pthread_atfork pthread_attr_destroy
pthread_attr_getdetachstate pthread_attr_getguardsize pthread_attr_getinheritsched pthread_attr_getschedparam
pthread_attr_getschedpolicy pthread_attr_getscope pthread_attr_getstack pthread_attr_getstackaddr pthread_attr_getstacksize
pthread_attr_init pthread_attr_setdetachstate pthread_attr_setguardsize pthread_attr_setinheritsched
pthread_attr_setschedparam pthread_attr_setschedpolicy pthread_attr_setscope pthread_attr_setstack pthread_attr_setstackaddr
pthread_attr_setstacksize pthread_attr_t pthread_barrier_destroy pthread_barrier_init pthread_barrier_t pthread_barrier_wait
pthread_barrierattr_destroy pthread_barrierattr_getpshared pthread_barrierattr_init pthread_barrierattr_setpshared
pthread_barrierattr_t pthread_cancel pthread_cleanup_pop pthread_cleanup_push pthread_cond_broadcast pthread_cond_destroy
pthread_cond_init pthread_cond_signal pthread_cond_t pthread_cond_timedwait pthread_cond_wait pthread_condattr_destroy
pthread_condattr_getclock pthread_condattr_getpshared pthread_condattr_init pthread_condattr_setclock
pthread_condattr_setpshared pthread_condattr_t pthread_create pthread_detach pthread_equal pthread_exit pthread_getconcurrency
pthread_getcpuclockid pthread_getschedparam pthread_getspecific pthread_join pthread_key_create pthread_key_delete
pthread_key_t pthread_kill pthread_mutex_consistent pthread_mutex_destroy pthread_mutex_getprioceiling pthread_mutex_init
pthread_mutex_lock pthread_mutex_setprioceiling pthread_mutex_t pthread_mutex_timedlock pthread_mutex_trylock
pthread_mutex_unlock pthread_mutexattr_destroy pthread_mutexattr_getprioceiling pthread_mutexattr_getprotocol
pthread_mutexattr_getpshared pthread_mutexattr_getrobust pthread_mutexattr_gettype pthread_mutexattr_init
pthread_mutexattr_setprioceiling pthread_mutexattr_setprotocol pthread_mutexattr_setpshared pthread_mutexattr_setrobust
pthread_mutexattr_settype pthread_mutexattr_t pthread_once pthread_once_t pthread_rwlock_destroy pthread_rwlock_init
pthread_rwlock_rdlock pthread_rwlock_t pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock pthread_rwlock_tryrdlock
pthread_rwlock_trywrlock pthread_rwlock_unlock pthread_rwlock_wrlock pthread_rwlockattr_destroy pthread_rwlockattr_getkind_np
pthread_rwlockattr_getpshared pthread_rwlockattr_init pthread_rwlockattr_setkind_np pthread_rwlockattr_setpshared
pthread_rwlockattr_t pthread_self pthread_setcancelstate pthread_setcanceltype pthread_setconcurrency pthread_setschedparam
pthread_setschedprio pthread_setspecific pthread_sigmask pthread_spin_destroy pthread_spin_init pthread_spin_lock
pthread_spin_trylock pthread_spin_unlock pthread_spinlock_t pthread_t pthread_testcancel ptrdiff_t ptsname putc putc_unlocked
putchar putchar_unlocked putenv puts putwc putwchar pwrite qsort quick_exit raise rand rand_r random re_syntax_options read
readdir readdir_r readlink readlinkat readv realloc realpath recv recvfrom recvmsg reg_errcode_t reg_syntax_t regcomp regerror
regex_t regexec regfree regmatch_t regoff_t remainder remainderf remainderl remove remque remquo remquof remquol rename
renameat rewind rewinddir rindex rint rintf rintl rlim_t rmdir round roundf roundl s6_addr s_reg_t sa_family_t sa_handler
sa_sigaction scalb scalbln scalblnf scalblnl scalbn scalbnf scalbnl scandir scanf sched_get_priority_max
sched_get_priority_min sched_getaffinity
sched_getparam sched_getscheduler sched_rr_get_interval sched_setparam sched_setscheduler sched_yield
seed48 seekdir select sem_close sem_destroy sem_getvalue sem_init sem_open sem_post sem_t sem_timedwait sem_trywait sem_unlink
sem_wait semctl semget semop send sendmsg sendto setbuf setegid setenv seteuid setgid setgrent sethostent setitimer setjmp
setlocale setlogmask setnetent setpgid setpgrp setpriority setprotoent setpwent setregid setreuid setrlimit setservent setsid
setsockopt setstate setuid setvbuf shm_open shm_unlink shmat shmatt_t shmctl shmdt shmget shutdown si_addr si_addr_lsb si_arch
si_band si_call_addr si_fd si_int si_lower si_overrun si_pid si_pkey si_ptr si_status si_stime si_syscall si_timerid si_uid
si_upper si_utime si_value sig_atomic_t sigaction sigaddset sigaltstack sigdelset sigemptyset sigev_notify_attributes
sigev_notify_function sigevent_t sigfillset sighold sigignore siginterrupt sigismember siglongjmp signal signbit signgam
significand sigpause sigpending sigprocmask sigqueue sigrelse sigset sigset_t sigsetjmp sigsuspend sigtimedwait sigwait
sigwaitinfo sin sinf sinh sinhf sinhl sinl size_t sizeof sleep snprintf sockatmark socket socketpair socklen_t speed_t sprintf
sqrt sqrtf sqrtl srand srand48 srandom sscanf ssize_t st_atime st_ctime st_mtime stack_t stat static_assert stderr stdin
stdout stpcpy stpncpy strcasecmp strcasecmp_l strcat strchr strcmp strcoll strcoll_l strcpy strcspn strdup strerror strerror_l
strerror_r strfmon strfmon_l strftime strftime_l strlen strncasecmp strncasecmp_l strncat strncmp strncpy strndup strnlen
strpbrk strptime strrchr strsignal strspn strstr strtod strtof strtoimax strtok strtok_r strtol strtold strtoll strtoul
strtoull strtoumax strxfrm strxfrm_l suseconds_t swab swprintf swscanf symlink symlinkat sync sysconf syslog system tan tanf
tanh tanhf tanhl tanl tcdrain tcflag_t tcflow tcflush tcgetattr tcgetpgrp tcgetsid tcsendbreak tcsetattr tcsetpgrp tdelete
telldir tempnam tfind tgamma tgammaf tgammal time time_t timer_create timer_delete timer_getoverrun timer_gettime
timer_settime timer_t times timespec_get timezone tmpfile tmpnam toascii tolower tolower_l toupper toupper_l towctrans
towctrans_l towlower towlower_l towupper towupper_l true trunc truncate truncf truncl tsearch ttyname ttyname_r twalk tzset
u_int16_t u_int32_t u_int64_t u_int8_t ucontext_t uid_t uint16_t uint32_t uint64_t uint8_t uint_fast16_t uint_fast32_t
uint_fast64_t uint_fast8_t uint_least16_t uint_least32_t uint_least64_t uint_least8_t uintmax_t uintptr_t umask uname ungetc
ungetwc unlink unlinkat unlockpt unsetenv useconds_t uselocale utime utimensat utimes va_arg va_end va_list vdprintf vfprintf
vfscanf vfwprintf vfwscanf void vprintf vscanf vsnprintf vsprintf vsscanf vswprintf vswscanf vwprintf vwscanf wait waitid
waitpid wchar_t wcpcpy wcpncpy wcrtomb wcscasecmp wcscasecmp_l wcscat wcschr wcscmp wcscoll wcscoll_l wcscpy wcscspn wcsdup
wcsftime wcslen wcsncasecmp wcsncasecmp_l wcsncat wcsncmp wcsncpy wcsnlen wcsnrtombs wcspbrk wcsrchr wcsrtombs wcsspn wcsstr
wcstod wcstof wcstoimax wcstok wcstol wcstold wcstoll wcstombs wcstoul wcstoull wcstoumax wcswcs wcswidth wcsxfrm wcsxfrm_l
wctob wctomb wctrans wctrans_l wctrans_t wctype wctype_l wctype_t wcwidth wint_t wmemchr wmemcmp wmemcpy wmemmove wmemset
wordexp wordexp_t wordfree wprintf write writev wscanf xor xor_eq y0 y1 yn
""".split()  # noqa: SIM905
)

# NULL, EOF, M_PI, PRId64; `I` is the imaginary unit of <complex.h>. None ends with an underscore.
_LIKE_A_MACRO = re.compile(r"I|(PRI|SCN)[A-Za-z][A-Z0-9]*|[A-Z][A-Z0-9_]*[A-Z0-9]")


def may_be_parameter(name: str) -> bool:
    """May a header use an identifier as the name of a parameter?"""
    return name not in KEYWORDS and name not in MACROS and not _LIKE_A_MACRO.fullmatch(name)


def may_be_exported(name: str) -> bool:
    """May a library define a procedure of this name?"""
    return may_be_parameter(name) and name not in DECLARED
